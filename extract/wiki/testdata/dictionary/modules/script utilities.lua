local export = {}

function export.tag_text(text, lang, face)
	local sc = lang:getNonEtymological():getScriptCode()
	local name = (face == "term" and sc == "Latn") and "i" or (face == "bold" or face == "head") and "strong" or "span"
	return tostring(mw.html.create(name):addClass(sc):addClass(face == "term" and "mention" or nil):attr("lang", lang:getCode()):wikitext(text))
end

return export
