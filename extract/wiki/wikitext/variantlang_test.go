package wikitext

import "testing"

func TestVariantsDoNotDependOnScriptAndCountry(t *testing.T) {
	const source, converted = "我用-{zh-hans:软件;zh-hant:軟體}-。", "我用软件。"
	for lang, want := range map[string]string{"zh": converted, "zh-Hans": converted, "zh-Hans-CN": converted, "zh-TW": converted, "sr-Latn": converted,
		"zh-classical": converted, "zh-min-nan": source, "zh-yue": source, "ja": source, "en-CN": source} {
		if got := string(NewScanner(DefaultOptions()).AppendText(nil, []byte(source), Page{Lang: lang})); got != want {
			t.Errorf("%s: got %q, want %q", lang, got, want)
		}
	}
}
