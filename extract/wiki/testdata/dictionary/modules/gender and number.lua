local export = {}
local names = {m = "masculine", f = "feminine", n = "neuter", p = "plural"}

function export.format_list(list)
	local out = {}
	for _, spec in ipairs(list) do
		local parts = {}
		for part in mw.text.gsplit(spec, "-", true) do
			if not names[part] then
				error("The gender \"" .. spec .. "\" is not valid.")
			end
			parts[#parts + 1] = '<abbr title="' .. names[part] .. '">' .. part .. "</abbr>"
		end
		out[#out + 1] = table.concat(parts, " ")
	end
	return '<span class="gender">' .. table.concat(out, " or ") .. "</span>"
end

return export
