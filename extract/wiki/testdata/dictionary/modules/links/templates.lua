local export = {}

function export.l_term_t(frame)
	local args = require("Module:parameters").process(frame:getParent().args, {
		[1] = {required = true}, [2] = {}, [3] = {}, [4] = {}, t = {alias_of = 4}, tr = {}, lit = {}, pos = {}, g = {list = true}, id = {},
	})
	local lang = require("Module:languages").getByCode(args[1], 1)
	return require("Module:links").full_link({lang = lang, term = args[2], alt = args[3], gloss = args[4], tr = args.tr, lit = args.lit, pos = args.pos, genders = args.g},
		frame.args.face)
end

return export
