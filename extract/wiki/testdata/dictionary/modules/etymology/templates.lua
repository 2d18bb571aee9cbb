local export = {}

-- {{der}}, {{inh}}, {{bor}} and {{cog}}: the name of a language and a word in it.
function export.derived(frame)
	local cognate = frame.args.cognate
	local shift = cognate and 0 or 1
	local params = {[1] = {required = true}, [shift + 1] = {required = true}, [shift + 2] = {}, [shift + 3] = {}, [shift + 4] = {},
		t = {alias_of = shift + 4}, tr = {}, lit = {}, pos = {}, g = {list = true}, nocat = {type = "boolean"}}
	local args = require("Module:parameters").process(frame:getParent().args, params)
	local m_languages = require("Module:languages")
	if not cognate then
		m_languages.getByCode(args[1], 1)
	end
	local source = m_languages.getByCode(args[shift + 1], shift + 1)
	local name = "[[w:" .. source:getCanonicalName() .. " language|" .. source:getCanonicalName() .. "]]"
	local term = args[shift + 2]
	if term == "-" then
		return name
	end
	if not term and not args[shift + 3] then
		return name .. " [Term?]"
	end
	return name .. " " .. require("Module:links").full_link({lang = source, term = term, alt = args[shift + 3], gloss = args[shift + 4],
		tr = args.tr, lit = args.lit, pos = args.pos, genders = args.g}, "term") .. "[[Category:Terms derived from " .. source:getCanonicalName() .. "]]"
end

return export
