-- mw.uri: addresses.
local host = select(2, ...)
local uri = {}

local function hex(c)
	return ('%%%02X'):format(c:byte())
end

function uri.encode(text, kind)
	if kind == 'PATH' then
		return (text:gsub('[^%w%-_%.~]', hex))
	elseif kind == 'WIKI' then
		return (text:gsub(' ', '_'):gsub('[^%w%-_%.!*\'(),;:@$/~]', hex))
	end
	return (text:gsub('[^%w%-_%. ]', hex):gsub(' ', '+'))
end

function uri.decode(text, kind)
	if kind ~= 'PATH' then
		text = text:gsub(kind == 'WIKI' and '_' or '%+', ' ')
	end
	return (text:gsub('%%(%x%x)', function(digits) return string.char(tonumber(digits, 16)) end))
end

function uri.anchorEncode(text)
	return (text:gsub('[%s_]+', '_'))
end

local function query(values)
	if type(values) ~= 'table' then
		return values and '?' .. tostring(values) or ''
	end
	local parts = {}
	for key, value in pairs(values) do
		parts[#parts + 1] = uri.encode(tostring(key)) .. '=' .. uri.encode(tostring(value))
	end
	return #parts > 0 and '?' .. table.concat(parts, '&') or ''
end

local Uri = {}
Uri.__index = Uri
function Uri.__tostring(self)
	return self.text
end
function Uri.__concat(a, b)
	return tostring(a) .. tostring(b)
end

function uri.new(text)
	local scheme, address, path = text:match('^(%a[%w+.-]*):?//([^/]*)(.*)$')
	return setmetatable({text = text, protocol = scheme, host = address, path = path or text}, Uri)
end

function uri.localUrl(page, values)
	return uri.new('/wiki/' .. uri.encode(page, 'WIKI') .. query(values))
end

function uri.fullUrl(page, values)
	return uri.new(host.server .. '/wiki/' .. uri.encode(page, 'WIKI') .. query(values))
end
uri.canonicalUrl = uri.fullUrl

function uri.validate(given)
	return given ~= nil
end

return uri
