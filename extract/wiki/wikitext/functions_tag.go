package wikitext

import "bytes"

// tag renders {{#tag:name|content}}: nothing for a tag that is dropped with its content, such as
// a footnote. Others are holes.
func (c *call) tag(first span) {
	name, known := c.condition(first)
	if !known {
		return
	}
	switch tagByName[string(bytes.ToLower(name))].kind {
	case tagDrop, tagSkip:
		c.removed()
	case tagNowiki:
		if text, known := c.condition(c.arg(1)); known {
			c.text(text)
		}
	default:
		c.from = c.unable(c.given, c.all.start, c.all.end)
	}
}
