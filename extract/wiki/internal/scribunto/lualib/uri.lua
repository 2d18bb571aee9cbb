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
	return (text:gsub('[%s_]+', '_'):gsub('^_', ''):gsub('_$', ''))
end

-- query returns the parameters of an address as text.
local function query(values)
	if type(values) ~= 'table' then
		return values and tostring(values) or ''
	end
	local parts = {}
	for key, value in pairs(values) do
		local name = uri.encode(tostring(key))
		for _, each in ipairs(type(value) == 'table' and value or {value}) do
			parts[#parts + 1] = each == false and name or name .. '=' .. uri.encode(tostring(each))
		end
	end
	return table.concat(parts, '&')
end
uri.buildQueryString = query

function uri.parseQueryString(text)
	local values = {}
	for part in text:gmatch('[^&]+') do
		local name, value = part:match('^([^=]*)=(.*)$')
		name, value = uri.decode(name or part), value and uri.decode(value) or false
		local known = values[name]
		if known == nil then
			values[name] = value
		elseif type(known) == 'table' then
			known[#known + 1] = value
		else
			values[name] = {known, value}
		end
	end
	return values
end

local Uri = {}

-- Fields that follow from others: authority, hostPort, queryString and relativePath.
function Uri.__index(self, key)
	if Uri[key] then
		return Uri[key]
	elseif key == 'hostPort' then
		return self.host and self.host .. (self.port and ':' .. self.port or '')
	elseif key == 'authority' then
		local user = rawget(self, 'user')
		return self.host and (user and user .. (self.password and ':' .. self.password or '') .. '@' or '') .. self.hostPort
	elseif key == 'queryString' then
		return rawget(self, 'query') and query(self.query)
	elseif key == 'relativePath' then
		return (self.path or '') .. (self.queryString and '?' .. self.queryString or '') .. (rawget(self, 'fragment') and '#' .. self.fragment or '')
	end
end

function Uri.__tostring(self)
	local protocol = rawget(self, 'protocol')
	return (protocol and protocol .. ':' or '') .. (rawget(self, 'host') and '//' .. self.authority or '') .. self.relativePath
end

function Uri.__concat(a, b)
	return tostring(a) .. tostring(b)
end

function Uri:extend(values)
	local all = type(values) == 'table' and values or uri.parseQueryString(values)
	self.query = rawget(self, 'query') or {}
	for key, value in pairs(all) do
		self.query[key] = value
	end
	return self
end

function Uri:clone()
	return mw.clone(self)
end

function uri.new(text)
	if type(text) == 'table' then
		return setmetatable(mw.clone(text), Uri)
	end
	local self, rest = {}, text or ''
	rest, self.fragment = rest:match('^([^#]*)#?(.*)$')
	if self.fragment == '' then
		self.fragment = nil
	end
	local before, values = rest:match('^([^?]*)%?(.*)$')
	if before then
		rest, self.query = before, uri.parseQueryString(values)
	end
	local protocol, after = rest:match('^(%a[%w+.-]*):(.*)$')
	if protocol then
		self.protocol, rest = protocol, after
	end
	local authority, path = rest:match('^//([^/]*)(.*)$')
	if authority then
		rest = path
		local user, address = authority:match('^([^@]*)@(.*)$')
		if user then
			self.user, self.password = user:match('^([^:]*):?(.*)$')
			self.password = self.password ~= '' and self.password or nil
		end
		address = address or authority
		local name, port = address:match('^(.*):(%d+)$')
		self.host, self.port = name or address, tonumber(port)
	end
	self.path = rest
	return setmetatable(self, Uri)
end

local function address(page, values)
	local text = query(values)
	local name = uri.encode(page, 'WIKI')
	if text == '' then
		return '/wiki/' .. name
	end
	return '/w/index.php?title=' .. name .. '&' .. text
end

function uri.localUrl(page, values)
	return uri.new(address(page, values))
end

function uri.fullUrl(page, values)
	return uri.new(host.server .. address(page, values))
end

function uri.canonicalUrl(page, values)
	return uri.new('https:' .. host.server .. address(page, values))
end

function uri.validate(given)
	return type(given) == 'table'
end

return uri
