-- mw.html: builds elements. Arguments that MediaWiki refuses are errors here too.
local util = require 'libraryUtil'
local checkType, checkTypeMulti = util.checkType, util.checkTypeMulti
local html = {}
local Node = {}
Node.__index = Node

local void = {area = true, base = true, br = true, col = true, hr = true, img = true, input = true, link = true, meta = true, wbr = true}

local function escape(value)
	return (tostring(value):gsub('[<>&"]', {['<'] = '&lt;', ['>'] = '&gt;', ['&'] = '&amp;', ['"'] = '&quot;'}))
end

local function new(name, options, parent)
	options = options or {}
	if name == '' then
		name = nil
	end
	return setmetatable({
		tagName = name, parent = parent or options.parent, nodes = {}, attributes = {}, styles = {},
		selfClosing = options.selfClosing or void[name] or false,
	}, Node)
end

local function checkName(name)
	if name ~= '' and not name:match('^%w+$') then
		error(("invalid tag name '%s'"):format(name), 3)
	end
end

function html.create(name, options)
	if name ~= nil then
		checkType('mw.html.create', 1, name, 'string')
		checkName(name)
	end
	checkType('mw.html.create', 2, options, 'table', true)
	return new(name, options)
end

local isText = {string = true, number = true}

-- checkTable checks a table of attributes or styles, which stands alone.
local function checkTable(method, list, value, keys, message)
	if value ~= nil then
		error(("bad argument #2 to '%s' (if argument #1 is a table, argument #2 must be left empty)"):format(method), 3)
	end
	for key, each in pairs(list) do
		if not keys[type(key)] or not isText[type(each)] then
			error(("bad argument #1 to '%s' (%s)"):format(method, message), 3)
		end
	end
end

-- checkOpen checks that an element may have children.
local function checkOpen(node)
	if node.selfClosing then
		error("self-closing tags can't have child nodes", 3)
	end
end

local function find(list, name)
	for k, item in ipairs(list) do
		if item[1] == name then
			return item, k
		end
	end
end

local function put(list, name, value)
	local item, k = find(list, name)
	if value == nil then
		if item then
			table.remove(list, k)
		end
	elseif item then
		item[2] = value
	else
		list[#list + 1] = {name, value}
	end
end

function Node:node(child)
	checkOpen(self)
	if child then
		self.nodes[#self.nodes + 1] = child
	end
	return self
end

function Node:wikitext(...)
	checkOpen(self)
	for k = 1, select('#', ...) do
		local text = select(k, ...)
		if text == nil then
			break
		end
		checkTypeMulti('wikitext', k, text, {'string', 'number'})
		self.nodes[#self.nodes + 1] = tostring(text)
	end
	return self
end

function Node:newline()
	return self:wikitext('\n')
end

function Node:tag(name, options)
	if type(name) == 'table' then
		self:node(name)
		return name
	end
	checkType('tag', 1, name, 'string')
	checkType('tag', 2, options, 'table', true)
	checkName(name)
	local child = new(name, options, self)
	self:node(child)
	return child
end

function Node:attr(name, value)
	if type(name) == 'table' then
		checkTable('attr', name, value, {string = true}, 'table keys must be strings, and values must be strings or numbers')
		for key, each in pairs(name) do
			self:attr(key, each)
		end
		return self
	end
	checkType('attr', 1, name, 'string')
	checkTypeMulti('attr', 2, value, {'string', 'number', 'nil'})
	if not name:match('^[%a_:][%w_.:-]*$') then
		error(("bad argument #1 to 'attr' (invalid attribute name '%s')"):format(name), 2)
	end
	if name == 'style' then
		self.styles = {}
		if value ~= nil then
			self.styles[1] = {'', value}
		end
		return self
	end
	put(self.attributes, name, value)
	return self
end

function Node:getAttr(name)
	checkType('getAttr', 1, name, 'string')
	local item = find(self.attributes, name)
	return item and item[2]
end

function Node:addClass(class)
	checkTypeMulti('addClass', 1, class, {'string', 'number', 'nil'})
	if class == nil then
		return self
	end
	local item = find(self.attributes, 'class')
	if item then
		item[2] = item[2] .. ' ' .. tostring(class)
	else
		self:attr('class', tostring(class))
	end
	return self
end

function Node:css(name, value)
	if type(name) == 'table' then
		checkTable('css', name, value, isText, 'table keys and values must be strings or numbers')
		for key, each in pairs(name) do
			self:css(key, each)
		end
		return self
	end
	checkTypeMulti('css', 1, name, {'string', 'number'})
	checkTypeMulti('css', 2, value, {'string', 'number', 'nil'})
	put(self.styles, name, value)
	return self
end

function Node:cssText(css)
	checkTypeMulti('cssText', 1, css, {'string', 'number', 'nil'})
	if css ~= nil then
		self.styles[#self.styles + 1] = {'', tostring(css)}
	end
	return self
end

function Node:done()
	return self.parent or self
end

function Node:allDone()
	local node = self
	while node.parent do
		node = node.parent
	end
	return node
end

local function build(node, out)
	if node.tagName then
		out[#out + 1] = '<' .. node.tagName
		for _, item in ipairs(node.attributes) do
			out[#out + 1] = ' ' .. item[1] .. '="' .. escape(item[2]) .. '"'
		end
		if #node.styles > 0 then
			local css = {}
			for _, item in ipairs(node.styles) do
				css[#css + 1] = item[1] == '' and item[2] or item[1] .. ':' .. tostring(item[2])
			end
			out[#out + 1] = ' style="' .. escape(table.concat(css, ';')) .. '"'
		end
		if node.selfClosing then
			out[#out + 1] = ' />'
			return
		end
		out[#out + 1] = '>'
	end
	for _, child in ipairs(node.nodes) do
		if type(child) == 'table' and getmetatable(child) == Node then
			build(child, out)
		else
			out[#out + 1] = tostring(child)
		end
	end
	if node.tagName then
		out[#out + 1] = '</' .. node.tagName .. '>'
	end
end

function Node:__tostring()
	local out = {}
	build(self, out)
	return table.concat(out)
end

function Node.__concat(a, b)
	return tostring(a) .. tostring(b)
end

return html
