package scribunto

import "testing"

// What is a word of a language is that of the wiki's language, or the call fails.
func TestWordsOfTheWikisLanguage(t *testing.T) {
	russian := wiki{"lang": "ru"}
	catalan := wiki{"lang": "ca"}
	other := wiki{"lang": "qqx"}
	for _, c := range []struct {
		wiki         wiki
		body         string
		want, reason string
	}{
		{russian, `return mw.text.listToText({1, 2, 3})`, "1, 2 и 3", ""},
		{russian, `return mw.text.listToText({1, 2})`, "1 и 2", ""},
		{russian, `return mw.text.listToText({1, 2, 3}, "; ", " / ")`, "1; 2 / 3", ""},
		{other, `return mw.text.listToText({1, 2})`, "", failWiki},
		{other, `return mw.text.listToText({1, 2, 3}, ", ")`, "", failWiki},
		{other, `return mw.text.listToText({1}) .. mw.text.listToText({}) .. mw.text.listToText({2, 3}, nil, "/")`, "12/3", ""},
		{russian, `return mw.getContentLanguage():formatDate("j xg Y", "2020-02-03")`, "3 февраля 2020", ""},
		{russian, `return mw.getContentLanguage():formatDate("F Y", "2020-02-03")`, "февраль 2020", ""},
		{russian, `return frame:callParserFunction("#time", "j xg Y", "2020-02-03")`, "3 февраля 2020", ""},
		{russian, `return frame:callParserFunction("#time", "j F Y", "2020-02-03", "en")`, "3 February 2020", ""},
		{russian, `return frame:callParserFunction("#time", "j F Y", "2020-02-03", "de")`, "3 Februar 2020", ""},
		{russian, `return mw.getContentLanguage():formatDate("l", "2020-02-03")`, "понедельник", ""},
		{russian, `return mw.getContentLanguage():formatDate("M", "2020-02-03")`, "фев", ""},
		{catalan, `return mw.getContentLanguage():formatDate("F", "2020-04-03")`, "abril", ""},
		{catalan, `return mw.getContentLanguage():formatDate("j xg", "2020-04-03")`, "3 d'abril", ""},
		{other, `return mw.getContentLanguage():formatDate("F", "2020-04-03")`, "", failWiki},
		{russian, `local l, s = mw.getContentLanguage(), "" for _, n in ipairs{1, 2, 5, 11, 21, 101} do s = s .. l:plural(n, "a", "b", "c") end return s`, "abccaa", ""},
		{wiki{"lang": "cs"}, `local l = mw.getContentLanguage() return l:plural(1, "a", "b", "c", "d") .. l:plural(3, "a", "b", "c", "d") .. l:plural("1.5", "a", "b", "c", "d") .. l:plural(9, "a", "b", "c", "d")`, "abcd", ""},
		{other, `return mw.getContentLanguage():plural(2, "a", "b")`, "", failWiki},
		{other, `return mw.getContentLanguage():plural(2, "a")`, "a", ""},
		{russian, `return mw.language.new("pl"):plural(2, "a", "b", "c")`, "", failWiki},
		{russian, `return mw.getContentLanguage():grammar("genitive", "x")`, "", failWiki},
		{russian, `return mw.language.new("de"):formatNum(1234567)`, "", failWiki},
		{russian, `return mw.language.new("tr"):ucfirst("izmir") .. mw.language.new("tr"):lcfirst("Irak") .. mw.getContentLanguage():ucfirst("izmir")`, "İzmirırakIzmir", ""},
		{russian, `return mw.site.siteName`, "", failWiki},
		{russian, `return mw.title.new("X").id`, "", failWiki},
		{russian, `return mw.title.new(7).text`, "", failWiki},
	} {
		w := wiki{"Test": "local p = {} function p.f(frame) " + c.body + " end return p"}
		for k, v := range c.wiki {
			w[k] = v
		}
		if got, err := invoke(w, "Test", "f"); got != c.want && c.reason == "" || reasonOf(err) != c.reason {
			t.Errorf("%s: %s: %q, %v, want %q, %q", w["lang"], c.body, got, err, c.want, c.reason)
		}
	}
}

// Whether a page exists is known of modules and templates of the dump; what is assumed of
// others is counted.
func TestAssumptionsAreCounted(t *testing.T) {
	for _, c := range []struct{ body, want, assumed string }{
		{`return tostring(mw.title.new("Module:Lib").exists) .. tostring(mw.title.new("Module:None").exists)`, "truefalse", ""},
		{`return tostring(mw.title.new("Template:T").exists) .. tostring(mw.title.getCurrentTitle().exists)`, "truetrue", ""},
		{`return tostring(mw.title.new("Template:U").exists) .. tostring(mw.title.new("X").exists)`, "truetrue", "exists;exists;"},
		{`return tostring(mw.message.new("x"):exists()) .. tostring(mw.message.new("x"):isBlank()) .. tostring(mw.message.newRawMessage("x"):exists())`, "falsetruetrue", "no_message;no_message;"},
		{`return tostring(mw.title.new("X").isRedirect) .. tostring(mw.title.new("X").redirectTarget)`, "falsefalse", "not_redirect;not_redirect;"},
	} {
		w := wiki{"Test": "local p = {} function p.f(frame) " + c.body + " end return p", "Lib": "return {}"}
		if got, err := invoke(w, "Test", "f"); got != c.want || err != nil || w["assumed"] != c.assumed {
			t.Errorf("%s: %q, %v, assumed %q, want %q, %q", c.body, got, err, w["assumed"], c.want, c.assumed)
		}
	}
}
