-- Languages as objects, whose data are in modules by the length and first letter of the code.
local m_families = mw.loadData("Module:families/data")
local export = {}
local Language = {}

function Language:getCode() return self._code end
function Language:getCanonicalName() return self._data[1] end
function Language:getFamily() return self._data.family end
function Language:getFamilyName() return m_families[self._data.family].name end
function Language:getScriptCode() return (self._data.scripts or {"Latn"})[1] end
function Language:isReconstructed() return self._code:find("-pro$") ~= nil end
function Language:getNonEtymological()
	return self._data.parent and export.getByCode(self._data.parent) or self
end

-- The title of the page of a word: without marks that only dictionaries write.
function Language:makeEntryName(text)
	local entry = self:getNonEtymological()._data.entry_name
	if entry then
		text = mw.ustring.toNFD(text)
		text = mw.ustring.gsub(text, "[" .. entry.remove .. "]", "")
		text = mw.ustring.toNFC(text)
	end
	return text
end

function Language:transliterate(text)
	local name = self._data.translit
	if not name then
		return nil
	end
	local ok, module = pcall(require, "Module:" .. name)
	return ok and module.tr(text, self._code) or nil
end

Language.__index = Language

local function dataModule(code)
	if code:find("^%l%l$") then
		return "languages/data/2"
	elseif code:find("^%l%l%l$") then
		return "languages/data/3/" .. code:sub(1, 1)
	elseif code:find("-pro$") then
		return "languages/data/exceptional"
	end
	return "etymology languages/data"
end

function export.getByCode(code, param)
	local ok, data = pcall(mw.loadData, "Module:" .. dataModule(code))
	local found = ok and data[code]
	if not found then
		if param then
			error("The language code \"" .. code .. "\" in parameter " .. param .. " is not valid.")
		end
		return nil
	end
	return setmetatable({_code = code, _data = found}, Language)
end

return export
