local export = {}
local tags = {["1"] = "first-person", ["2"] = "second-person", ["3"] = "third-person", s = "singular", p = "plural", pres = "present", past = "past", ind = "indicative", part = "participle"}

function export.form_of_t(frame)
	local args = require("Module:parameters").process(frame:getParent().args, {[1] = {required = true}, [2] = {required = true}, [3] = {}, [4] = {list = true}, t = {}})
	local lang = require("Module:languages").getByCode(args[1], 1)
	local what = frame.args[1]
	if not what then
		local words = {}
		for _, tag in ipairs(args[4]) do
			words[#words + 1] = tags[tag] or error("The tag \"" .. tag .. "\" is not known.")
		end
		what = table.concat(words, " ")
	end
	return what .. " of " .. require("Module:links").full_link({lang = lang, term = args[2], alt = args[3], gloss = args.t}, "bold")
end

return export
