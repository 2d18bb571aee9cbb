package wikihtml

import "encoding/json"

// A variant is the attribute data-mw-variant: text in several variants of the
// language, such as -{zh-cn:a; zh-tw:b}-. The alternatives are HTML, in the order
// of the source.
type variant struct {
	Add    bool          `json:"add"` // a rule for the rest of the page
	Remove bool          `json:"remove"`
	Title  bool          `json:"title"` // for the title of the page
	Show   bool          `json:"show"`
	TwoWay []variantText `json:"twoway"`
	OneWay []variantText `json:"oneway"`
	Fixed  *variantText  `json:"disabled"` // the same in all variants
	Filter *variantText  `json:"filter"`   // in some variants
}

type variantText struct {
	Text string `json:"t"`
}

// maxVariantDepth is the maximum nesting of variants. Deeper text is dropped.
const maxVariantDepth = 8

// variantHTML returns the HTML that package wikitext would show for -{…}-: the first
// alternative, or "" for rules.
func variantHTML(data string) string {
	var v variant
	if len(data) > maxDataMW || json.Unmarshal([]byte(data), &v) != nil || (v.Add || v.Remove || v.Title) && !v.Show {
		return ""
	}
	switch {
	case v.Fixed != nil:
		return v.Fixed.Text
	case v.Filter != nil:
		return v.Filter.Text
	case len(v.TwoWay) > 0:
		return v.TwoWay[0].Text
	case len(v.OneWay) > 0:
		return v.OneWay[0].Text
	}
	return ""
}
