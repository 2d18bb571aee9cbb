local export = {}
local data = mw.loadData("Module:labels/data")

function export.show(frame)
	local out = {}
	for k, value in ipairs(frame:getParent().args) do
		if k > 1 then
			value = data.aliases[value] or value
			out[#out + 1] = data.labels[value] and data.labels[value].display or value
		end
	end
	local text = table.concat(out, ", "):gsub(", _, ", " ")
	return "(''" .. text .. "'')"
end

return export
