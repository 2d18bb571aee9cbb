package wikitext

import (
	"bytes"
	"strings"
)

// templateNames lists the templates that may be part of a sentence and how each
// is rendered. names are their names and redirects in lower case, separated by
// bars. They were selected by their frequency in running text of real dumps and
// are rendered as their documentation on the wikis says.
var templateNames = []struct {
	template
	names string
}{
	// One argument shown as it is.
	{template{op: opArg, n: 1}, "nowrap|nobr|nobreak|nowr|nobold|noitalic|noitalics|normal|small|smaller|big|bigger|large|huge|" +
		"abbr|abbrv|abbrlink|tooltip|define|sc|smallcaps|small caps|smallcaps all|sc2|scaps|aut|allcaps|vanchor|visible anchor|anchord|" +
		"keypress|key press|key|kbd|samp|not a typo|typo|notatypo|as written|proper name|mvar|var|varserif|math|bigmath|code|codett|mono|monospace|tt|pre|" +
		"strong|em|emph|b|i|bold|italic|italics|bi|underline|u|strike|strikethrough|strikeout|overline|overbar|overset|underscore|" +
		"nihongo2|nihongo foot|nihongo core|unicode|uni|ipa link|ipalink|ipa-all|polytonic|hebrew|arabic|persian|urdu|cyrillic|greek|" +
		"center|centre|align|left|right|larger|nowiki|tq|tqq|xt|mxt|!xt|green|red|blue|highlight|hilite|mark|background|" +
		"abréviation|petites capitales|hoch|tief|noflag|esc|oeis|oeis link|ce|grc|my|pie|proto|cn span|cnspan|citation needed span|ruby|rb|mergedrubytext|sortname2|nbay|ndb|fontcolor2|sub-superscript|lcase|exp|ind|indice|exposant|term|defn|glossary term|gli|" +
		"no break|noprint|printonly|screen reader-only|nosup|nowraplinks|keep together|" +
		"refnec|référence nécessaire|référence souhaitée|passage évasif|pas clair|quoi|qui|quand|lequel|laquelle|terme défini|vocabulaire|" +
		"api|lien web texte|petit|grand|souligner|surligner|citation nécessaire|versalitas|versalita|esd|enlace roto texto|" +
		"kapitälchen|polytonisch|dmg|schriftgröße|nicht umbrechen|unterstrichen|zentriert|farbe|" +
		"要出典範囲|jis2004フォント|jis90フォント|補助漢字フォント|拡張漢字|cjk|仮リンク|ルビ|ruby-ja|読み仮名|読み仮名 ruby不使用|括弧内|旧字体|cp932フォント|iast|iast3|jalink|unité de mesure|" +
		"le|link-en|link-ja|link-de|link-fr|link-ru|link-ko|link-la|link-es|link-it|link-zh|lje|lj|僻字|新字形|旧字形|kai|宋体|楷体|" +
		"ударение|comment|комментарий|nobr2|неп|нп1|" +
		"plain link|plainlink|plainlinks|wikt|wiktionary|dict|lc1|first word|initials|sup sub|" +
		"linkjis|新字|fbu|fbw|nft|cr|crw|crname|nfa|nhlteam|music genre|mon|" +
		"nom|cite quote|w|title|titel|mapcode|mp|mpv|mps"},
	{template{op: opArg, n: 2}, "lang1|idioma|color|colour|fontcolor|font color|textcolor|background color|bgcolor|" +
		"wikt-lang|wikt lang|mention|cog|l|resize2|alignright|sort|hover|hover title|" +
		"lang-mul|nihongo title|phonetic|iw|tsl2|legend|legend2|legend inline|couleur|farblegende|" +
		"pronunciation text|style|stil|span|langr|lang2|fontsize|font size|raise|lower|ligature|overunderset|lang+"},
	{template{op: opArg, n: 3}, "fontcolor3|tsl|translink|link-interwiki3"},
	{template{op: opLast}, ""},
	{template{op: opLastOf, n: 2}, "sdash|resize|midsize|tooltip2|url|web|hn|rdf"},

	// Text of its own.
	{template{op: opText, text: "'s"}, "'s|`s|apostrophe s"},
	{template{op: opText, text: "'"}, "'|apostrophe|apos|`|'-|'+"},
	{template{op: opText, text: "''"}, "''"},
	{template{op: opText, text: "'\""}, "'\"|' \"|'\"'"},
	{template{op: opText, text: "\"'"}, "\"'|\" '"},
	{template{op: opText, text: "|"}, "!|pipe|vertical bar|vert|{{!}}"},
	{template{op: opText, text: "||"}, "!!"},
	{template{op: opText, text: "="}, "=|equals|equal|equals sign"},
	{template{op: opText, text: "{{"}, "((|double left curly bracket"},
	{template{op: opText, text: "}}"}, "))|double right curly bracket"},
	{template{op: opText, text: "{"}, "(|lbrace|left brace"},
	{template{op: opText, text: "}"}, ")|rbrace|right brace"},
	{template{op: opText, text: "["}, "lsqb|lbrack|left bracket"},
	{template{op: opText, text: "]"}, "rsqb|rbrack|right bracket"},
	{template{op: opText, text: ":"}, "colon|:"},
	{template{op: opText, text: "*"}, "*|asterisk|star"},
	{template{op: opText, text: "#"}, "hash|number sign"},
	{template{op: opText, text: "@"}, "@|at|at sign"},
	{template{op: opText, text: "&"}, "&|amp|ampersand"},
	{template{op: opText, text: "–"}, "ndash|en dash|endash|–|nsdash|ndsh|n-dash"},
	{template{op: opText, text: "—"}, "mdash|em dash|emdash|—|mdashb|mdsh|m-dash"},
	{template{op: opText, text: " – "}, "spaced ndash|snd|spnd|sndash|spndash|spaced en dash|spaced n dash|dash|- -|spaced endash|–s|tiret|snds"},
	{template{op: opText, text: " — "}, "spaced mdash|smd|spaced em dash|spaced m dash"},
	{template{op: opText, text: "‑"}, "nbhyph|nbh|non breaking hyphen|nonbreaking hyphen|nbhyphen|hyphen"},
	{template{op: opText, text: " "}, "nbsp|space|spaces|thinsp|thin space|thinspace|hairsp|hair space|nnbsp|narrow no-break space|ensp|emsp|\\s|indent|in5|" +
		"non breaking space|nbsp2|wsp|px2|px1|figure space|figsp|spc|espace|espacio|leerzeichen|snbsp|tab|gap"},
	{template{op: opText, text: " · "}, "middot|dot|·|interpunct|•|bull|bullet|•w|·w|dotw|bulletpoint|-w|, |point|pucka"},
	{template{op: opText, text: " / "}, "\\|/|slash"},
	{template{op: opText, text: "…"}, "ellipsis|...|…|ell|elips"},
	{template{op: opText, text: "[…]"}, "[...]|bracketed ellipsis|…]|omissis|(...)|[…]"},
	{template{op: opText, text: "†"}, "dagger|†|extinct|kreuz|croix|obelus"},
	{template{op: opText, text: "‡"}, "ddagger|double dagger|double-dagger|‡"},
	{template{op: opText, text: "♯"}, "sharp|#♯|music sharp"},
	{template{op: opText, text: "♭"}, "flat|music flat"},
	{template{op: opText, text: "♮"}, "natural|music natural"},
	{template{op: opText, text: "×"}, "times|x×|multiply"},
	{template{op: opText, text: "−"}, "minus|−|subtract"},
	{template{op: opText, text: "+"}, "plus"},
	{template{op: opText, text: "±"}, "plusminus|+-|±|plus or minus"},
	{template{op: opText, text: "⇌"}, "eqm|equilibrium|⇌"},
	{template{op: opText, text: "→"}, "→|rarr|reactarrow|react arrow|arrow right"},
	{template{op: opText, text: "←"}, "←|larr"},
	{template{op: opText, text: "↔"}, "↔|harr"},
	{template{op: opText, text: "ʻ"}, "okina|ʻokina|'okina"},
	{template{op: opText, text: "ʿ"}, "ayin|ayn|ʿ|hamza ayin"},
	{template{op: opText, text: "ʾ"}, "hamza|alef|aleph|ʾ|asterism hamza"},
	{template{op: opText, text: "π"}, "pi|π"},
	{template{op: opText, text: "τ"}, "tau"},
	{template{op: opText, text: "ℓ"}, "litre symbol|script l"},
	{template{op: opText, text: "ħ"}, "hbar|h-bar"},
	{template{op: opText, text: "½"}, "1/2|half|½"},
	{template{op: opText, text: "¼"}, "1/4|¼"},
	{template{op: opText, text: "¾"}, "3/4|¾"},
	{template{op: opText, text: "no"}, "n°|numéro|nº"},
	{template{op: opText, text: "er"}, "er"},
	{template{op: opText, text: "CO2"}, "co2"},
	{template{op: opText, text: "H2O"}, "h2o"},
	{template{op: opEtCetera}, "etc.|etc|, etc."},
	{template{op: opText, text: "Mme"}, "mme"},
	{template{op: opText, text: "Mlle"}, "mlle"},
	{template{op: opText, text: "Mgr"}, "mgr"},
	{template{op: opText, text: "\""}, "-\"|\"-"},
	{template{op: opText, text: "ème"}, "ème|ième"},
	{template{op: opText, text: "av. J.-C."}, "av jc|avjc|av. j.-c.|-jc"},
	{template{op: opText, text: "apr. J.-C."}, "ap jc|apjc|apr. j.-c."},
	{template{op: opText, text: "c.-à-d."}, "c-à-d|c.-à-d.|càd"},
	{template{op: opText, text: "LaTeX"}, "latex"},
	{template{op: opText, text: "TeX"}, "tex"},
	{template{op: opText, text: "USSR"}, "ussr"},
	{template{op: opText, text: "UTC"}, "utc"},
	{template{op: opText, text: "Unicode"}, "unicode name"},
	{template{op: opText, text: "Yes"}, "yes"},
	{template{op: opText, text: "No"}, "no"},
	{template{op: opBreak}, "pb|paragraph break|paragraph|parabr|br|break|crlf|linebreak"},

	// An argument with something around it.
	{template{op: opArg, n: 1, text: ""}, "sub|sup|subst"},
	{template{op: opQuoted, n: 1, text: "⟨|⟩"}, "angbr|angle bracket|angle|anglebrackets|angbr ipa|angle bracket ipa|grapheme|grapheme2|langle|orthographic"},
	{template{op: opQuoted, n: 1, text: "[|]"}, "bracket|brackets|brack|bracketed|interp|interpolation|sqbr|square brackets"},
	{template{op: opQuoted, n: 1, text: "{|}"}, "braces|set|mset|curly brackets"},
	{template{op: opQuoted, n: 1, text: "(|)"}, "paren|parentheses|parens"},
	{template{op: opQuoted, n: 1, text: "/|/"}, "slashes|phonemic"},
	{template{op: opAbsolute}, "abs|absolute value"},
	{template{op: opQuoted, n: 1, text: "'|'"}, "gloss|glossing|single+|single quotes|sq|gloss2"},
	{template{op: opQuoted, n: 1, text: "\"|\""}, "double+|double quotes|dq|\"|qq|quote inline|inline quote"},
	{template{op: opQuoted, n: 1, text: "lit. '|'"}, "lit|lit.|literal translation|literally|literal|translation"},
	{template{op: opQuoted, n: 1, text: "« | »"}, "citation|cita|citation étrangère|«|guillemets|cita textual|cytat w tekście"},
	{template{op: opQuoted, n: 1, text: "„|“"}, "zitat-de|„|anführung"},
	{template{op: opArg, n: 1, text: "√"}, "sqrt|radic|root|√"},
	{template{op: opArg, n: 1, text: "U+"}, "u+|unichar|unicode char"},
	{template{op: opArg, n: 1, text: "ISBN "}, "isbn|isbnt"},
	{template{op: opPair, n: 1, text: "fl. |–"}, "floruit|fl.|fl"},
	{template{op: opArg, n: 1, text: "b. "}, "b."},
	{template{op: opArg, n: 1, text: "d. "}, "d."},
	{template{op: opArg, n: 1, text: "born "}, "born"},
	{template{op: opArg, n: 1, text: "died "}, "died"},
	{template{op: opPair, n: 1, text: "r. |–"}, "reign|r."},
	{template{op: opArg, n: 1, text: "née "}, "née|nee"},
	{template{op: opArg, n: 1, text: "né "}, "né"},
	{template{op: opArg, n: 1, text: "10"}, "10^|10e"},
	{template{op: opArg, n: 1, text: "p. "}, "p."},
	{template{op: opArg, n: 1, text: "§ "}, "sect|section sign|§|paragraf"},
	{template{op: opJoin, n: 1, text: "–"}, "ndash range|date range|year range"},
	{template{op: opJoin, n: 1, text: ":"}, "ratio|colon-separated"},
	{template{op: opJoin, n: 1, text: ""}, "linktext|chem|chem2|chem/link|chemf|gaps|fchim|formule chimique|concat|radical"},
	{template{op: opJoin, n: 1, text: ", "}, "hlist|comma separated entries|csv|cslist|hlist-comma"},
	{template{op: opJoin, n: 1, text: " "}, "post-nominals|postnominals|post nominals|date rép|sortname|sort name|fecha|datum|date sport|date de naissance|date de décès|nb|physical quantity"},
	{template{op: opJoin, n: 1, text: " & "}, "& list"},
	{template{op: opJoin, n: 1, text: "+"}, "keyboard|key combination|button|keypress combo"},

	// Lines of their own.
	{template{op: opBlock, n: 1}, "quote|zitat-en|zitat-fr|zitat-la|blockquote|bq|block quote|bquote|quotation|quotation1|cquote|centered pull quote|cquote2|quoteblock|imagequote|poemquote|poem quote|" +
		"retrait|poem|poème|poema|verse|block indent|blockindent|plainlist|flatlist|plain list|flat list|columns-list|col-list|column-list|columns list|colonnes|" +
		"columnlist|multi-column list|zitat|quote paragraph|citation bloc|début citation|cita bloque|quote without source|" +
		"plainbulleted|indented plainlist|bloc emphase|zitatblock|gedicht|verse quote|blockzitat|" +
		"quote-source|cquotetxt|epigraph|épigraphe|small div|smalldiv|fs90|fs interval|resize block|align center|scroll|fixed width|div|cytat|цитата|citat|cita larga"},
	{template{op: opItems, n: 1}, "unbulleted list|ubl|ubli|ulist|unbulleted|ub-list|bulleted list|blist|bulletlist|bullet list|ordered list|olist|list|vlist|verse translation|verse transliteration-translation|glist"},

	// Pronunciation.
	{template{op: opSound, n: 1}, "ipac|ipac-de|ipac-fr|ipac-es|afi|lautschrift|pronunciation|pron|ipablink|ipa blink|ipaslink|ipa slink|ipavowel|ipaalink"},
	{template{op: opDrop}, "ipac-en|ipac-pl|ipac-ga|ipac-hu|ipac-cmn|ipac-yue|respell|pronunciation respelling|usdict|audio|audio-ipa|audio-nohelp|audio-de|listen|pronunciation-file|écouter|prononciation"},

	// Quantities and dates.
	{template{op: opConvert}, "convert|cvt|conv|convinfobox|convert/sandbox|ct|конвертировать"},
	{template{op: opNumber, n: 1}, "formatnum|number|nts|delimitnum|format number|fnum|num|formatnumber|formatprice|format price|formatting number|numberformat|число"},
	{template{op: opNumber, n: 2}, "inflation"}, // as given: the rest depends on the day of reading
	{template{op: opValue}, "val"},
	{template{op: opFraction}, "frac|sfrac|fraction|fract|nicefrac|tfrac|dfrac|intfrac|bruch|frac2|xfrac|fracción"},
	{template{op: opScience}, "e|esp|sn|scinote|x10^|×10^|e10"},
	{template{op: opHeight}, "height"},
	{template{op: opDate, n: 1}, "start date|start-date|end date|end-date|start date and age|film date|release date|dts|birth date|birth date and age|bda|b-da|d-da|birth-date|birth-date and age|birth year and age|" +
		"birth date and age2|bya|birthyear|death date|death-date|dob|death year|date of birth|death date and age|death-date and age|dda|death year and age|birth based on age as of date|launch date|publication date|opening date|launch date and age|founded|date table sorting|released|episode date|生年月日と年齢|生年月日|geburtsdatum|date de naissance-|fecha de nacimiento|dni|nac|生年月日と年齢2|출생일과 나이|사망일과 나이|nacimiento|дата рождения|дата смерти"},
	{template{op: opDate, n: 4}, "死亡年月日と没年齢|没年齢"},
	{template{op: opOldStyle}, "oldstyledate|oldstyledateny|oldstyledatenoyear|oldstyledatedy|old style date"},
	{template{op: opAsOf}, "as of|asof|as-of"},
	{template{op: opCirca, text: "c. "}, "circa|c.|ca|ca.|c|circa.|vers|env|env."},
	{template{op: opAge}, "age|age in years|ayd|age in years and days|age as of date|aged"},
	{template{op: opArg, n: 1, text: "US$"}, "us$|usd|us dollars|us dollar|united states dollar|$"},
	{template{op: opArg, n: 1, text: "£"}, "£|gbp|pound sterling|lsd|pound"},
	{template{op: opArg, n: 1, text: "₤"}, "₤|italian lira"},
	{template{op: opArg, n: 1, text: "€"}, "€|eur|euro|euros"},
	{template{op: opArg, n: 1, text: "₹"}, "inr|₹|indian rupee|indian rupees|rupee|rs|rupees|indianrupee"},
	{template{op: opArg, n: 1, text: "¥"}, "¥|jpy|yen|円"},
	{template{op: opArg, n: 1, text: "CN¥"}, "cny|rmb|renminbi|cn¥|yuan"},
	{template{op: opArg, n: 1, text: "A$"}, "a$|aud|au$"},
	{template{op: opArg, n: 1, text: "C$"}, "c$|cad|ca$"},
	{template{op: opArg, n: 1, text: "NZ$"}, "nz$|nzd"},
	{template{op: opArg, n: 1, text: "HK$"}, "hk$|hkd"},
	{template{op: opArg, n: 1, text: "NT$"}, "nt$|twd|ntd"},
	{template{op: opArg, n: 1, text: "S$"}, "sgd|s$"},
	{template{op: opArg, n: 1, text: "R$"}, "brl|r$"},
	{template{op: opArg, n: 1, text: "₩"}, "₩|krw|won"},
	{template{op: opArg, n: 1, text: "₱"}, "₱|php|phpeso|peso|philippine peso"},
	{template{op: opArg, n: 1, text: "₽"}, "₽|rub|rur|ruble|rouble"},
	{template{op: opArg, n: 1, text: "₪"}, "₪|ils|nis|shekel"},
	{template{op: opArg, n: 1, text: "₺"}, "₺|try|turkish lira|tl2"},
	{template{op: opArg, n: 1, text: "₦"}, "₦|ngn|naira"},
	{template{op: opArg, n: 1, text: "₴"}, "₴|uah|hryvnia"},
	{template{op: opArg, n: 1, text: "Rs."}, "pkr|npr|lkr"},
	{template{op: opArg, n: 1, text: "CHF "}, "chf|swiss franc"},
	{template{op: opArg, n: 1, text: "R"}, "zar"},
	{template{op: opArg, n: 1, text: "SEK "}, "sek"},
	{template{op: opArg, n: 1, text: "NOK "}, "nok"},
	{template{op: opArg, n: 1, text: "DKK "}, "dkk"},
	{template{op: opArg, n: 1, text: "DM "}, "dem"},
	{template{op: opJoin, n: 1, text: " "}, "currency|währung"},

	// Languages.
	{template{op: opLang}, "langx|lang-x|languagex"},
	{template{op: opTranslit}, "transl|transliteration|tlit|xlit|transl2|translit"},
	{template{op: opZh}, "zh|lang-zh|zh-full|zh-cn|zh-hans|zh-hant|chinese|zhi|zh-cpl|zh-tspw|zh-stp|lang-zhi"},
	{template{op: opJapanese, n: 1}, "nihongo|japonais|nihongo3-|japanisch|jap|nihongo krt|japonés|nihongo-s|nihongos"},
	{template{op: opJapanese, n: 3}, "nihongo3|nihongo 3"},
	{template{op: opKorean}, "korean|ko-hhrm|koreanisch|korean/auto|coréen|韓国語|ko"},
	{template{op: opEra}, "bd|生卒|生歿|生没年"},
	{template{op: opSic}, "sic|sic?|(sic)|[sic]"},

	// Names of things.
	{template{op: opCountry}, "flag|fb|flagcountry|flagu|flaglink|flag2|flag+link|flagcountry2|flagl|drapeau texte|pays|country|country flag|noc|nocf|flagteam|flagioc|flagiocteam|flagioc2"},
	{template{op: opShip}, "ship|warship|schiff|navire|barco"},
	{template{op: opShip, text: "SM"}, "smu"},
	{template{op: opShip, text: "USS"}, "uss"},
	{template{op: opShip, text: "HMS"}, "hms"},
	{template{op: opShip, text: "HMAS"}, "hmas"},
	{template{op: opShip, text: "HMCS"}, "hmcs"},
	{template{op: opShip, text: "HMNZS"}, "hmnzs"},
	{template{op: opShip, text: "HMIS"}, "hmis"},
	{template{op: opShip, text: "HMT"}, "hmt"},
	{template{op: opShip, text: "HNLMS"}, "hnlms"},
	{template{op: opShip, text: "HNoMS"}, "hnoms"},
	{template{op: opShip, text: "HDMS"}, "hdms"},
	{template{op: opShip, text: "HSwMS"}, "hswms"},
	{template{op: opShip, text: "INS"}, "ins"},
	{template{op: opShip, text: "JS"}, "js"},
	{template{op: opShip, text: "JDS"}, "jds"},
	{template{op: opShip, text: "ORP"}, "orp"},
	{template{op: opShip, text: "PNS"}, "pns"},
	{template{op: opShip, text: "RFA"}, "rfa"},
	{template{op: opShip, text: "RMS"}, "rms"},
	{template{op: opShip, text: "ROKS"}, "roks"},
	{template{op: opShip, text: "SAS"}, "sas"},
	{template{op: opShip, text: "SMS"}, "sms"},
	{template{op: opShip, text: "SS"}, "ss"},
	{template{op: opShip, text: "SSV"}, "ssv"},
	{template{op: opShip, text: "MS"}, "ms"},
	{template{op: opShip, text: "MV"}, "mv"},
	{template{op: opShip, text: "TSS"}, "tss"},
	{template{op: opShip, text: "USAT"}, "usat"},
	{template{op: opShip, text: "USCGC"}, "uscgc"},
	{template{op: opShip, text: "USNS"}, "usns"},
	{template{op: opShip, text: "USRC"}, "usrc"},
	{template{op: opShip, text: "CSS"}, "css"},
	{template{op: opShipClass}, "sclass|sclass-|sclass2|sclass2-|ship class|jclass|jclass-|jclass2"},
	{template{op: opArg, n: 1, text: "U-"}, "gu"},
	{template{op: opArg, n: 1}, "gs|german submarine"},
	{template{op: opLink, n: 1}, "ill|interlanguage link|illm|interlanguage link multi|link-interwiki|iw2|ill2|interlanguage link forced|interlanguage link wikidata|ill-wd|ill-wd2|lien|lien2|lien à traduire|" +
		"не переведено|iw link|link|red link|internal link helper|illsmart|iwl|ill/wd"},
	{template{op: opLink, n: 2}, "не переведено 2|не переведено 3|не переведено 5|нп2|нп3|нп4|нп5|нп"},
	{template{op: opHarvard}, "harvtxt|harvs|harvcoltxt|harvtext|harvard txt|harvnbtxt"},
	{template{op: opMusic}, "music"},
	{template{op: opArg, n: 1, text: ""}, "officialname|native phrase"},
	{template{op: opArg, n: 2}, "native name|nativename|langue native"},
	{template{op: opCentury, text: " siècle"}, "s|siècle|s-|s mini|sap-|-s mini"},
	{template{op: opCentury, text: " siècles"}, "s2|s2-|sp|sp-"},
	{template{op: opCentury, text: " siècle av. J.-C."}, "-s|-s-"},
	{template{op: opCentury, text: " siècles av. J.-C."}, "-sp|-sp-|-s2-"},
	{template{op: opCentury, text: " millénaire"}, "millénaire|m-|m"},
	{template{op: opCentury, text: " millénaire av. J.-C."}, "-millénaire|-m-|-m"},
	{template{op: opJoin, n: 1, text: " h "}, "heure|hour"},
	{template{op: opLast}, "snamei|sname|species name|taxon|vern|souverain|souverain2|souverain3|souverain-|roi"},
	{template{op: opArg, n: 1, text: "OCLC "}, "oclc"},
	{template{op: opQuoted, n: 1, text: "siglo |"}, "siglo"},
	{template{op: opArgAfter, n: 1, text: " m"}, "höhe"},
	{template{op: opAlt, text: "text", n: 2}, "lang|langue|rtl-lang|ltr-lang|script/lang|rtl lang"},
	{template{op: opLastOf, n: 2}, "script"},
	{template{op: opSound, n: 2}, "ipa"},
	{template{op: opFreeDate}, "date|date-"},
	{template{op: opDates}, "start and end dates|start and end date"},
	{template{op: opGauge}, "track gauge|railgauge|rail gauge|tg"},
	{template{op: opEraName, text: "AD"}, "ad|anno domini"},
	{template{op: opEraName, text: "BC"}, "bc"},
	{template{op: opEraName, text: "BCE"}, "bce"},
	{template{op: opEraName, text: "CE"}, "ce (era)"},
	{template{op: opArg, n: 1}, "taxlink|au|spelling|ext link text"},
	{template{op: opVerse}, "bibleverse|bibleverse-nb|bibleref|bibleref2|bible|sourcetext|bible verse|bibleverse-lb"},
	{template{op: opPair, n: 1, text: "Quran |:"}, "cite quran|qref|quran|quran-usc|qur'an|qref2"},
	{template{op: opAthlete}, "flagathlete|flag athlete|flagiocathlete|flagioc athlete|flagmedalist|flagiocmedalist|flagathlete2"},
	{template{op: opNuclide}, "nuclide|simplenuclide|simple nuclide|nuclide2|simplenuclide2"},
	{template{op: opStacked}, "su"},
	{template{op: opBraKet}, "bra-ket|braket"},
	{template{op: opQuoted, n: 1, text: "⟨||"}, "bra"},
	{template{op: opBraKet, n: 1}, "ket"},
	{template{op: opAlt, text: "text", n: 1}, "font"},
	{template{op: opArg, n: 1}, "pertinence détail|précision nécessaire|référence insuffisante|passage à actualiser|source insuffisante|référence à confirmer|où|lnobr|" +
		"統合文字|特殊文字|exp2|bo-textonly|unité simple"},
	{template{op: opSound, n: 1}, "msapi"},
	{template{op: opJoin, n: 1, text: " "}, "tmp|température|temperature"},
	{template{op: opArg, n: 1, text: "ISBN "}, "isbn2"},
	{template{op: opArg, n: 1, text: "$"}, "dollar|dollars"},
	{template{op: opQuoted, n: 1, text: "(IATA: |)"}, "iata"},
	{template{op: opText, text: "2nd"}, "2nd-en"},
	{template{op: opText, text: "€"}, "ευρώ"},
	{template{op: opMeasure}, "unité|nombre|unité/2|unidad"},
	{template{op: opIncise}, "incise"},
	{template{op: opGiven}, "cie|ex|2|3|ii|iii|iv|vi|vii|viii|ix|xi|xii|françois ier|napoléon ier"},
	{template{op: opCentury, text: " siècle"}, "s mini-"},
	{template{op: opListing}, "marker|listing|city|vcard|see|do|eat|drink|buy|sleep|go|learn|proorismos|prosvasi"},
	{template{op: opJoin, n: 1}, "subsup|sup sub 2|supsub|sub sup"},
	{template{op: opAmount, n: 1, text: "₹"}, "inrconvert|inr convert"},
	{template{op: opSterling}, "£sd|pounds, shillings, and pence|gbp sd"},
	{template{op: opText, text: "φ"}, "phi"},
	{template{op: opArg, n: 1, text: "ISSN "}, "issn|issn link"},
	{template{op: opArg, n: 1, text: "LCCN "}, "lccn"},
	{template{op: opArg, n: 1, text: "PMID "}, "pmid"},
	{template{op: opArg, n: 1, text: "PMC "}, "pmc"},
	{template{op: opArg, n: 1, text: "JSTOR "}, "jstor"},
	{template{op: opArg, n: 1, text: "doi:"}, "doi|doi-inline"},
	{template{op: opArg, n: 1, text: "arXiv:"}, "arxiv"},
	{template{op: opArg, n: 1, text: "Bibcode:"}, "bibcode"},
	{template{op: opArg, n: 1, text: "hdl:"}, "hdl"},
	{template{op: opDrop}, dropNames},
}

// dropNames are the names of known templates that are dropped, because they are
// not part of a sentence: footnotes, notices, boxes, marks.
const dropNames = "citation needed|cn|,|exp,|virgule|article détaillé|articles détaillés|article connexe|voir homonymes|confusion|arbre généalogique|écrit|en langue|anglais|latin|disambiguation|chart|familytree|clade|more footnotes|no footnotes|noteta|出典の明記|要出典|主條目|efn2|refnest|vr|fact|cn-span|clarify|when|who|which|where|why|whom|vague|dubious|disputed inline|failed verification|verify source|page needed|" +
	"rp|sfn|sfnp|sfnm|sfnref|efn|efn-ua|efn-lr|efn-la|efn-ur|refn|r|ref|ref label|note label|note|notetag|harv|harvnb|harvp|harvcol|harvcolnb|snf|sfn2|" +
	"reflist|references|refbegin|refend|notelist|notelist-ua|notelist-la|notelist-lr|notefoot|refs|listaref|ref-list|références|réflist|referenties|portal|portal bar|portal-inline|" +
	"main|main article|see also|further|details|about|for|other uses|redirect|hatnote|distinguish|confused|otheruses|other uses2|for-multi|more|seealso|see-also|selfref|" +
	"use dmy dates|use mdy dates|use british english|use american english|short description|good article|featured article|pp|pp-move|pp-semi|pp-semi-indef|pp-vandalism|pp-pc|pp-protected|pp-move-indef|" +
	"refimprove|more citations needed|unreferenced|cleanup|expand section|empty section|expand|original research|pov|npov|tone|update|update inline|citation style|" +
	"clear|clear left|clear right|-|clr|toc|toc right|toc left|toc limit|toclimit|compact toc|tocright|" +
	"commons|commons category|commonscat|commons category-inline|commons-inline|commons cat|commons and category|wikiquote|wiktionary inline|wikisource|sister project links|sister|sisterlinks|wikivoyage|wikibooks|wikinews|wikispecies|wikiversity|" +
	"authority control|normdaten|bases|autorité|dmoz|official website|official|imdb name|imdb title|coord|coordinates|coor|coor title dm|coord missing|koordinate|" +
	"defaultsort|displaytitle|lowercase title|lowercase|italic title|italictitle|use indian english|engvarb|taxonbar|subject bar|navboxes|succession box|s-start|s-end|s-bef|s-ttl|s-aft|start box|end box|end|" +
	"flagicon|flag icon|flagdeco|flagicon image|flag decoration|drapeau|gallery|multiple image|triple image|double image|css image crop|image frame|wide image|panorama|annotated image|" +
	"dead link|webarchive|archive|wayback|cbignore|subscription required|registration required|closed access|open access|free access|in lang|en icon|fr icon|de icon|es icon|it icon|ru icon|ja icon|" +
	"div col|div col end|div col begin|colbegin|colend|col-begin|col-end|col-2|col-3|col-break|col-start|columns|multicol|multicol-break|multicol-end|col begin|col end|col break|col-4|col-5|end div col|" +
	"anchor|anchors|shy|zwsp|zwnj|zwj|wbr|wj|hidden|hs|nowrap begin|nowrap end|nobr end|nobr begin|nowrap start|wrap|increase|decrease|steady|gain|loss|profit|nochange|hidden begin|hidden end|" +
	"quote box|quotebox|pull quote|pullquote|rquote|quote frame|side box|sidebar|unsolved|expert needed|merge|merge to|merge from|split|globalize|weasel inline|by whom|according to whom|opinion|peacock inline|not verified in body|better source needed|better source|" +
	"circular reference|primary source inline|primary source|importance inline|non-primary source needed|full citation needed|full|specify|time needed|year needed|ambiguous|contradict-inline|inconsistent|disputed|disputed-inline|fv|check|attribution needed|update after|clarification needed|improve source|self-published inline|self-published source|lead too short|multiple issues|" +
	"inflation-year|inflation-fn|to usd|currentyear|currentday|currentmonthname|webcite|cite|dead|0|00|000|ndash space|hr|rule|white|party color|color box|legend0|family name hatnote|ребус"

// templatePrefixes lists the families of templates whose names have the same
// prefix, and how each family is rendered.
var templatePrefixes = []struct {
	prefix string
	template
}{
	{"ipa-", template{op: opSound, n: 1}},
	{"script/", template{op: opArg, n: 1}},
	{"link-", template{op: opArg, n: 1}},
	{"internal link helper/", template{op: opArg, n: 1}},
	{"convert/", template{op: opDrop}},
	{"cite ", template{op: opDrop}},
	{"citation/", template{op: opDrop}},
	{"infobox", template{op: opDrop}},
	{"navbox", template{op: opDrop}},
	{"s-", template{op: opDrop}},
	{"use ", template{op: opDrop}},
	{"pp-", template{op: opDrop}},
	{"wikisource", template{op: opDrop}},
	{"commons", template{op: opDrop}},
	{"r/", template{op: opDrop}},
	{"expand ", template{op: opDrop}},
	{"vol-", template{op: opArg, n: 1}},
}

var templates = buildTemplates()

func buildTemplates() map[string]template {
	m := make(map[string]template)
	m["!"] = template{op: opText, text: "|"}
	for name, f := range variables { // so that one look-up is enough
		m[name] = template{op: opVariable, n: int(f)}
	}
	for _, list := range templateNames {
		for name := range strings.SplitSeq(list.names, "|") {
			if _, ok := m[name]; !ok && name != "" {
				m[name] = list.template
			}
		}
	}
	return m
}

// byShape returns how to render a template whose name has a certain form; ok is
// false if it has none of these forms:
//
//   - "XIXe siècle" and "2e" of the French Wikipedia, and "旧暦11月" of the
//     Japanese one, are shown themselves.
//   - "enS" of the German Wikipedia shows its argument, which is text in a
//     language.
//   - "FRA" is shown as the name of the country.
//   - "bird-stub" is dropped.
func byShape(name, given []byte) (t template, ok bool) {
	switch {
	case len(name) < 32 && (bytes.HasSuffix(name, []byte(" siècle")) || bytes.HasSuffix(name, []byte(" siècle av. j.-c."))), isOrdinal(given), isOldMonth(name):
		return template{op: opGiven}, true
	case len(given) == 3 && countryNames[string(given)] != "":
		return template{op: opText, text: countryNames[string(given)]}, true
	case len(given) <= 4 && bytes.HasSuffix(given, []byte("S")):
		if _, known := languageCode[string(given[:len(given)-1])]; known {
			return template{op: opArg, n: 1}, true
		}
	case bytes.HasSuffix(name, []byte("-stub")), bytes.HasSuffix(name, []byte(" stub")):
		return template{op: opDrop}, true
	}
	return template{}, false
}

var frenchMonths = makeSet("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre")

// isOldMonth reports whether name is a month of the old Japanese calendar, such
// as 旧暦11月.
func isOldMonth(name []byte) bool {
	month, ok := bytes.CutPrefix(name, []byte("旧暦"))
	month, behind := bytes.CutSuffix(month, []byte("月"))
	return ok && behind && len(month) < 8
}

// isOrdinal reports whether b is a French ordinal number in digits or Roman
// numerals ("2e", "XIVe", "Ier"), with an optional month ("1er mars").
func isOrdinal(b []byte) bool {
	b, month, _ := bytes.Cut(b, []byte(" "))
	if len(month) > 0 && !frenchMonths[string(month)] {
		return false
	}
	number := bytes.TrimLeft(b, "0123456789")
	if len(number) == len(b) {
		number = bytes.TrimLeft(b, "IVXLCM")
	}
	if len(number) == len(b) {
		return false
	}
	switch string(number) {
	case "e", "er", "re", "ème", "ère", "nd", "nde":
		return true
	}
	return false
}
