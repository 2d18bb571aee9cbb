package locale

import (
	"strings"
	"testing"
	"time"
)

func TestDatesAreReadAsPHPReadsThem(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2020-01-05": "2020-01-05 00:00", "1969-07-20 20:17": "1969-07-20 20:17", "5 May 1945": "1945-05-05 00:00", "May 5, 1945": "1945-05-05 00:00",
		"1/2/2003": "2003-01-02 00:00", "13.7.1999": "1999-07-13 00:00", "January 2020": "2020-01-01 00:00", "1945": "1945-03-01 00:00", "1 January": "2024-01-01 00:00",
		"12:34": "2024-02-29 12:34", "": "2024-02-29 12:30", "now": "2024-02-29 12:30", "today": "2024-02-29 00:00", "tomorrow": "2024-03-01 00:00",
		"@86400": "1970-01-02 00:00", "20200105123456": "2020-01-05 12:34", "2020-01-31 +1 month": "2020-03-02 00:00", "2020-01-05 -2 weeks": "2019-12-22 00:00",
		"+1 day": "2024-03-01 12:30", "2 days ago": "2024-02-27 12:30", "2020-01-05 +1 month -1 day": "2020-02-04 00:00",
		"nonsense": "", "2020-13-01": "", "5 May 12 hours": "", "+1": "", "2020-01-05 +1 eon": "", "@x": "",
	} {
		at, ok := ParseDate(text, now)
		if got := at.Format("2006-01-02 15:04"); ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %s %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "now", "1 January", "12:34", "1945", "+1 day"} {
		if at, ok := ParseDate(text, time.Time{}); ok {
			t.Errorf("%q is %v on an unknown day", text, at)
		}
	}
}

func TestDatesAreWrittenAsMediaWikiWritesThem(t *testing.T) {
	at := time.Date(2021, 3, 4, 15, 6, 7, 0, time.UTC)
	for _, c := range []struct{ lang, form, want string }{
		{"en", "j F Y, D d M y l", "4 March 2021, Thu 04 Mar 21 Thursday"},
		{"en", "n t L z N w W o", "3 31 0 62 4 4 09 2021"},
		{"en", "H:i:s g h G a A", "15:06:07 3 03 15 pm PM"},
		{"en", `\\Y "year" Y xxx`, "Y year 2021 xx"},
		{"en", "xrY xnY jS", "MMXXI 2021 4S"},
		{"en", "c r U e O P", "2021-03-04T15:06:07+00:00 Thu, 04 Mar 2021 15:06:07 +0000 1614870367 UTC +0000 +00:00"},
		{"ru", "j xg Y F", "4 марта 2021 март"},
		{"bn", "Y xnY", "২০২১ 2021"},
		{"ru", "l D M", "четверг чт мар"}, {"en", "xjY", ""}, {"bn", "F", "মার্চ"}, {"de", "F xg D", "März März Do"}, {"", "F x", "March x"}, {"simple", "M", "Mar"},
		{"ca", "j xg", "4 de març"}, {"als", "F", "März"}, {"xx", "Y", "2021"}, {"xx", "F", ""}, {"qqx", "D", ""},
	} {
		calendar := Calendar{Lang: c.lang, Numbers: NumbersOf(c.lang, "")}
		got, ok := calendar.Format(strings.ReplaceAll(c.form, `\\`, `\`), at)
		if ok != (c.want != "") || got != c.want {
			t.Errorf("%s %q: got %q %v, want %q", c.lang, c.form, got, ok, c.want)
		}
	}
}

func FuzzDates(f *testing.F) {
	f.Add("2020-01-05 +1 day", "j F Y xg xr Y \\ \"")
	f.Fuzz(func(t *testing.T, date, form string) {
		at, ok := ParseDate(date, time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC))
		if !ok {
			return
		}
		calendar := Calendar{Lang: "en", Numbers: NumbersOf("fa", "")}
		if text, ok := calendar.Format(form, at); ok && len(text) > 40*len(form)+1 {
			t.Errorf("%q: %d bytes", form, len(text))
		}
	})
}
