local export = {}

function export.tr(text)
	local out = {}
	for c in mw.ustring.gcodepoint(text) do
		out[#out + 1] = ({[0x10330] = "a", [0x1033F] = "o", [0x1037F] = "u", [0x10333] = "d", [0x10332] = "g", [0x10343] = "s", [0x10339] = "i"})[c] or "?"
	end
	return table.concat(out)
end

return export
