local export = {}
local m_scripts = require("Module:script utilities")

local function display(term, lang, alt)
	if term == nil or term == "" then
		return alt or ""
	end
	local text = alt or term
	local starred = text:sub(1, 1) == "*"
	local target = lang:makeEntryName(term:gsub("^%*", ""))
	if lang:isReconstructed() then
		target = "Reconstruction:" .. lang:getCanonicalName() .. "/" .. target
		if not starred then
			text = "*" .. text
		end
	else
		target = target .. "#" .. lang:getNonEtymological():getCanonicalName()
	end
	return "[[" .. target .. "|" .. text .. "]]"
end

function export.format_annotations(data)
	local parts = {}
	if data.tr and data.tr ~= "-" then
		parts[#parts + 1] = '<span class="tr">' .. data.tr .. "</span>"
	end
	if data.gloss then
		parts[#parts + 1] = "“" .. data.gloss .. "”"
	end
	if data.pos then
		parts[#parts + 1] = data.pos
	end
	if data.lit then
		parts[#parts + 1] = "literally “" .. data.lit .. "”"
	end
	return #parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or ""
end

function export.full_link(data, face)
	local text = display(data.term, data.lang, data.alt)
	if text == "" then
		error("The parameter of a link needs a term.")
	end
	data.tr = data.tr or data.lang:transliterate(data.alt or data.term)
	text = m_scripts.tag_text(text, data.lang, face)
	local genders = data.genders and #data.genders > 0 and " " .. require("Module:gender and number").format_list(data.genders) or ""
	return text .. genders .. export.format_annotations(data)
end

return export
