local export = {}
local letters = {["а"] = "a", ["в"] = "v", ["д"] = "d", ["е"] = "e", ["м"] = "m", ["о"] = "o", ["н"] = "n", ["ы"] = "y", ["а́"] = "a", ["ъ"] = "ʺ", ["ь"] = "ʹ"}

function export.tr(text)
	return (mw.ustring.gsub(mw.ustring.lower(text), "[Ѐ-ӿ]", function(c) return letters[c] or error("The letter " .. c .. " is not known.") end))
end

return export
