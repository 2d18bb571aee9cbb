package redact

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func Example() {
	fmt.Println(URL("https://me:secret@example.org/a.txt?token=secret"))
	fmt.Println(Args([]string{"/usr/local/bin/prepare-data", "run", "--books=/home/me/books", "--out", "../out"}))
	// Output:
	// https://redacted@example.org/a.txt?redacted
	// [prepare-data run --books=books --out out]
}

func TestAddressesKeepWhatNamesTheirFile(t *testing.T) {
	sum := strings.Repeat("0f", 32)
	for address, want := range map[string]string{
		"https://example.org/a/b.txt":                                            "https://example.org/a/b.txt",
		"https://example.org/b.txt?x=S":                                          "https://example.org/b.txt?redacted",
		"https://example.org/b.txt?":                                             "https://example.org/b.txt",
		"https://S@example.org":                                                  "https://redacted@example.org",
		"https://S:S@S@example.org/b?S#S":                                        "https://redacted@example.org/b?redacted",
		"https://example.org/@me":                                                "https://example.org/@me",
		"https://example.org/b?S#sha256=" + sum:                                  "https://example.org/b?redacted#sha256=" + sum,
		"https://example.org/b#sha256=S":                                         "https://example.org/b",
		"//S@example.org/%zz?S":                                                  "//redacted@example.org/%zz?redacted",
		"/login?back=S":                                                          "/login?redacted",
		"https://redacted@example.org/b?redacted":                                "https://redacted@example.org/b?redacted",
		"https://u:S/x@example.org/b":                                            "https://redacted@example.org/b",
		"https://u:S?x@example.org/b":                                            "https://redacted@example.org/b",
		"http://HOST:PORT":                                                       "http://HOST:PORT",
		"https://u:S":                                                            "https://u:redacted",
		"https://example.org:80/@me":                                             "https://example.org:80/@me",
		"https://example.org/b.txt;token=S":                                      "https://example.org/b.txt;redacted",
		"https://example.org/b;S/c%3bS":                                          "https://example.org/b;redacted/c;redacted",
		"https://example.org/u:S@h/c":                                            "https://example.org/redacted@h/c",
		"https://example.org/token/S/c.txt":                                      "https://example.org/token/redacted/c.txt",
		"https://example.org/x_api-key=S/c":                                      "https://example.org/x_api-key=redacted/c",
		"https://example.org/ghp_SSSSSSSSSSSSSS":                                 "https://example.org/redacted",
		"https://example.org/T0/a8Kd93LmQ0z7XbT4vR1uW2yE":                        "https://example.org/T0/redacted",
		"https://example.org/enwiki-20260901-pages-articles1.xml-p1p41242.bz2":   "https://example.org/enwiki-20260901-pages-articles1.xml-p1p41242.bz2",
		"https://example.org/0123456789abcdef0123456789abcdef01234567/b.txt":     "https://example.org/0123456789abcdef0123456789abcdef01234567/b.txt",
		"https://example.org/wiki/Lang=en/Date=2026/part-00000-of-00100.parquet": "https://example.org/wiki/Lang=en/Date=2026/part-00000-of-00100.parquet",
		"": "",
	} {
		if got := URL(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
		if Hash(address) != "" != (URL(address) != address) {
			t.Errorf("%s: hash %q", address, Hash(address))
		}
	}
	if Hash("https://example.org/?a") == Hash("https://example.org/?b") {
		t.Error("different addresses have one hash")
	}
}

func TestAddressesInTextAreFound(t *testing.T) {
	for text, want := range map[string]string{
		`get https://a.org/x?S: status 404`:            `get https://a.org/x?redacted: status 404`,
		`"https://a.org/x?S": not a URL; s3://S@b/c?S`: `"https://a.org/x?redacted": not a URL; s3://redacted@b/c?redacted`,
		`(see https://a.org/x?S).`:                     `(see https://a.org/x?redacted).`,
		`wikimedia=https://S:S@a.org`:                  `wikimedia=https://redacted@a.org`,
		`no address: 3/4, a=b`:                         `no address: 3/4, a=b`,
		`--endpoint "u:S@h:8099": write HOST:PORT`:     `--endpoint "redacted@h:8099": write HOST:PORT`,
		`endpoint=S@h:8099, a@b.org`:                   `endpoint=redacted@h:8099, a@b.org`,
		`lookup S@h: no such host`:                     `lookup redacted@h: no such host`,
		`get "https://h/x?a='S'": no`:                  `get "https://h/x?redacted'": no`,
		`mailto:me@h.org, enwiki:12, C:\\a`:            `mailto:me@h.org, enwiki:12, C:\\a`,
	} {
		if got := Text(text); got != want || Text(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCommandLinesLoseFolders(t *testing.T) {
	got := Args([]string{"./p", "--out=S/S/x", "--url", "https://a.org/S1?S#S", "--mirror", "wikimedia=http://S@h/", "-q", "S/x/", "--rule", "a=0.5", "S=S/x", "--set=x=S/x", "--n=1",
		"--endpoint", "u:S@h:1", "--endpoint=u:S/x@h:1", "S@h:1"})
	want := []string{"p", "--out=x", "--url", "https://a.org/S1?redacted", "--mirror", "wikimedia=http://redacted@h/", "-q", "x", "--rule", "a=0.5", "S=x", "--set=x=x", "--n=1",
		"--endpoint", "redacted@h:1", "--endpoint=redacted@h:1", "redacted@h:1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://u:p@h/a?b#c", "x", "//@?#", "https://h?q"} {
		f.Add(s, "token")
	}
	f.Fuzz(func(t *testing.T, address, token string) {
		once := URL(address)
		if URL(once) != once {
			t.Errorf("%q becomes %q, which is not left alone", address, once)
		}
		if token = strings.ToUpper(strings.Map(letters, token)); len(token) > 3 && strings.Contains(URL("https://h/a?"+address+token), token) && !strings.Contains(strings.ToUpper(word), token) && !strings.Contains(address, "#") {
			t.Errorf("%q stays", token)
		}
	})
}

// letters keeps ASCII letters alone.
func letters(r rune) rune {
	if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
		return r
	}
	return -1
}
