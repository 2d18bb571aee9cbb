-- mw.message: messages of the software are not in a dump; those that a module writes itself are texts.
local host = select(2, ...)
local message = {}
local Message = {}
Message.__index = Message

local function new(fields)
	fields.parameters = fields.parameters or {}
	return setmetatable(fields, Message)
end

function message.new(key, ...)
	return new({key = key}):params(...)
end

function message.newFallbackSequence(...)
	return new({key = (...)})
end

function message.newRawMessage(text, ...)
	return new({raw = text}):params(...)
end

function message.rawParam(value)
	return value
end

function message.numParam(value)
	return mw.getContentLanguage():formatNum(value)
end

function message.getDefaultLanguage()
	return mw.getContentLanguage()
end

-- append puts the parameters of a message behind those that it has.
local function append(self, value, ...)
	local list = type(value) == 'table' and getmetatable(value) ~= Message and value or {value, ...}
	for _, each in ipairs(list) do
		self.parameters[#self.parameters + 1] = tostring(each)
	end
	return self
end

function Message:params(...)
	return append(self, ...)
end
Message.rawParams = Message.params

function Message:numParams(...)
	local list = type((...)) == 'table' and (...) or {...}
	local formatted = {}
	for k, each in ipairs(list) do
		formatted[k] = message.numParam(each)
	end
	return append(self, formatted)
end

function Message:inLanguage()
	return self
end
Message.useDatabase = Message.inLanguage

-- unknown counts that a message of the software is taken to be absent.
local function unknown(self)
	if not self.raw then
		host.assume('no_message')
	end
	return self.raw == nil
end

function Message:exists()
	return not unknown(self)
end

function Message:isBlank()
	return unknown(self) or self.raw == ''
end
Message.isDisabled = Message.isBlank

function Message:plain()
	if not self.raw then
		host.absent('message ' .. tostring(self.key))
	end
	return (self.raw:gsub('%$(%d+)', function(n) return self.parameters[tonumber(n)] end))
end
Message.__tostring = Message.plain

return message
