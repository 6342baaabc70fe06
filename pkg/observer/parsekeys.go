package observer

// keys reads the keys that close a map. It returns nil after an error. path is the path of KeyKeys, one below the
// map.
func (p *parser) keys(path *Path, raw any) *Keys {
	k := p.keyLists(path, raw)
	if text := noKeysFor(path.Parent()); text != "" {
		p.fault(path, "%s", text)
		return nil
	}
	return k
}

// noKeysFor returns the reason why a map cannot be closed, or "" if it can.
func noKeysFor(path *Path) string {
	chain := path.Chain()
	switch {
	case len(chain) == 0 || chain[0].Name() == "metadata" && len(chain) == 1:
		return "closes only maps below the object, not the entire object or its metadata"
	case isStatus(chain[0].Name()):
		return "cannot be below status, which is report-only"
	}
	return ""
}

// keyLists reads the lists of keys, without a check whether the map can be closed. kept occurs only in recorded
// schemas.
//
//	{hold: ["*"]}                                 all keys are the manifest's
//	{hold: ["app.*"], free: ["app.example/x"]}    one key remains free
//	{hold: ["*"], kept: [team]}                   in a recorded schema
func (p *parser) keyLists(path *Path, raw any) *Keys {
	m, ok := raw.(map[string]any)
	if !ok || len(m) == 0 {
		p.fault(path, "must be a map with the lists hold and free, not %s", p.describe(raw))
		return nil
	}
	k, before := &Keys{}, len(p.faults)
	for _, name := range sortedKeys(m) {
		switch name {
		case "hold":
			k.Hold = p.keyPatterns(path.Field(name), m[name])
		case "free":
			k.Free = p.keyPatterns(path.Field(name), m[name])
		case "kept":
			k.Kept = p.keptKeys(path.Field(name), m[name])
		default:
			p.fault(path.Field(name), "must be one of hold, free and kept")
		}
	}
	if _, given := m["hold"]; !given {
		p.fault(path, "must list in hold the keys that other clients may not add; * matches any key")
	}
	if len(p.faults) > before {
		return nil
	}
	return k
}

// keyPatterns reads a list of keys or patterns, within the limits of a closed map. It returns nil after an error.
func (p *parser) keyPatterns(path *Path, raw any) []string {
	l, ok := raw.([]any)
	if !ok || len(l) == 0 || len(l) > maxKeyPatterns {
		p.fault(path, "must be a list of 1 to %d keys, in which * matches any text", maxKeyPatterns)
		return nil
	}
	var patterns []string
	for _, v := range l {
		text, ok := v.(string)
		if !ok || text == "" || len(text) > maxKeyPatternText {
			p.fault(path, "must have keys of 1 to %d characters, not %s", maxKeyPatternText, p.describe(v))
			return nil
		}
		patterns = append(patterns, text)
	}
	return patterns
}

// keptKeys reads the keys of a recorded schema that the API server has added. They have no limit: the controller
// cannot choose their number, and without them the recorded schema would be lost.
func (p *parser) keptKeys(path *Path, raw any) (keys []string) {
	l, ok := raw.([]any)
	for _, v := range l {
		text, isText := v.(string)
		keys, ok = append(keys, text), ok && isText
	}
	if !ok || len(keys) == 0 {
		p.fault(path, "must be a list of keys")
		return nil
	}
	return keys
}
