package wikitext

import (
	"cmp"
	"fmt"
	"strings"

	"pretext/extract/wiki/internal/locale"
	"pretext/extract/wiki/rendering"
)

// todays are the formats of the variables that are a part of the date of today.
var todays = map[string]string{
	"year": "Y", "month": "m", "month1": "n", "month2": "m", "monthname": "F", "monthnamegen": "xg", "monthabbrev": "M",
	"day": "j", "day2": "d", "dayname": "l", "dow": "w",
}

func init() {
	for name := range todays {
		variables["current"+name], variables["local"+name] = funcToday, funcToday
	}
}

// calendar returns how dates are written in a language.
func (w *wiki) calendar(lang string) *locale.Calendar {
	c := &locale.Calendar{Lang: lang, Numbers: locale.NumbersOf(lang, w.page.Wiki)}
	if lang == w.page.Lang {
		c.Month = w.month
	}
	return c
}

// month returns the name of a month, alone or in a date with a day; "" if it is not known.
func (w *wiki) month(month int, alone bool) string {
	number := fmt.Sprintf("%02d", month)
	name := w.table.Text(rendering.Month, number)
	if alone {
		return cmp.Or(w.table.Text(rendering.MonthAlone, number), name)
	}
	return name
}

// time renders {{#time:format|date|language}}. Without a date it is the day of the page.
func (c *call) time(first span) {
	form, known := c.condition(first)
	date, also := c.condition(c.arg(1))
	lang, too := c.condition(c.arg(2))
	if !known || !also || !too {
		return
	}
	at, ok := locale.ParseDate(string(date), c.wiki.page.Today)
	if ok && at.Year() >= 0 && at.Year() <= 9999 {
		if text, ok := c.wiki.calendar(cmp.Or(string(lang), c.wiki.page.Lang)).Format(string(form), at); ok {
			c.str(text)
			return
		}
	}
	c.from = c.unable(c.given, c.all.start, c.all.end)
}

// today renders {{CURRENTYEAR}} and its like: parts of the day of the page.
func (c *call) today() {
	name := strings.ToLower(string(c.bytes(c.given)))
	form := todays[strings.TrimPrefix(strings.TrimPrefix(name, "current"), "local")]
	if !c.wiki.page.Today.IsZero() {
		if text, ok := c.wiki.calendar(c.wiki.page.Lang).Format(form, c.wiki.page.Today); ok {
			c.str(text)
			return
		}
	}
	c.from = c.unable(c.given, c.all.start, c.all.end)
}
