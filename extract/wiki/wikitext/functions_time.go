package wikitext

import (
	"cmp"
	"strings"

	"pretext/extract/wiki/internal/locale"
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
	return &locale.Calendar{Lang: lang, Numbers: locale.NumbersOf(lang, w.page.Wiki)}
}

// message renders {{int:january}}: a word of MediaWiki's interface, or a hole.
func (c *call) message(first span) {
	name, known := c.condition(first)
	if !known {
		return
	}
	if text, ok := locale.Message(c.wiki.page.Lang, strings.ToLower(string(name))); ok && len(c.args) == 1 {
		c.str(text)
		return
	}
	c.from = c.unable(c.given, c.all.start, c.all.end)
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
