local export = {}

local function hyphened(term, kind, index, count)
	if kind == "suffix" and index == count and count > 1 then
		return "-" .. term
	elseif kind == "prefix" and index < count then
		return term .. "-"
	end
	return term
end

function export.affix(frame)
	local args = require("Module:parameters").process(frame:getParent().args, {
		[1] = {required = true}, [2] = {list = true}, t = {list = true}, alt = {list = true}, tr = {list = true}, pos = {list = true}, nocat = {type = "boolean"},
	})
	local lang = require("Module:languages").getByCode(args[1], 1)
	local links, count = {}, args[2].maxindex
	for k = 1, count do
		if args[2][k] then
			local term = hyphened(args[2][k], frame.args.type, k, count)
			links[#links + 1] = require("Module:links").full_link({lang = lang, term = term, alt = args.alt[k], gloss = args.t[k], tr = args.tr[k], pos = args.pos[k]}, "term")
		end
	end
	if #links == 0 then
		error("You must provide at least one part.")
	end
	return table.concat(links, " +&lrm; ")
end

return export
