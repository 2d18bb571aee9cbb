return require [[Module:affix/templates]]
