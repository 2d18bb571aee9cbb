local export = {}

function export.head_t(frame)
	local args = require("Module:parameters").process(frame:getParent().args, {
		[1] = {required = true}, [2] = {required = true}, [3] = {list = true}, head = {}, g = {list = true}, tr = {}, sort = {},
	})
	local lang = require("Module:languages").getByCode(args[1], 1)
	local title = mw.title.getCurrentTitle().subpageText
	local out = {require("Module:script utilities").tag_text(args.head or title, lang, "head")}
	local tr = args.tr or lang:transliterate(args.head or title)
	if #args.g > 0 then
		out[#out + 1] = " " .. require("Module:gender and number").format_list(args.g)
	end
	if tr then
		out[#out + 1] = " • (" .. tr .. ")"
	end
	local forms = {}
	for k = 1, args[3].maxindex, 2 do
		local label, form = args[3][k], args[3][k + 1]
		if label and form then
			forms[#forms + 1] = "''" .. label .. "'' " .. require("Module:links").full_link({lang = lang, term = form, tr = "-"}, "bold")
		end
	end
	if #forms > 0 then
		out[#out + 1] = " (" .. table.concat(forms, ", ") .. ")"
	end
	return table.concat(out) .. "[[Category:" .. lang:getCanonicalName() .. " " .. args[2] .. "s]]"
end

return export
