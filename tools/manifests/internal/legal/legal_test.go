package legal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/tools/manifests/internal/product"
)

// phrases identifies the licenses that programs may be linked under, by a phrase of each one's text.
var phrases = map[string]string{
	"Apache-2.0":    "Apache License Version 2.0, January 2004",
	"BSD":           "Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met",
	"ISC":           "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted",
	"ISC, older":    "Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted",
	"MIT":           "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files",
	"Public domain": "CC0 1.0 Universal",
}

// allowed reports whether a license text is on the list.
func allowed(text string) bool {
	text = strings.Join(strings.Fields(text), " ")
	for _, phrase := range phrases {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// Every module that a program is linked from has a license on the list, and its text is in the notices.
func TestLicensesAreAllowed(t *testing.T) {
	const checkout = "../../../.."
	for _, p := range product.Programs() {
		t.Run(p.Name+" "+p.Platform(), func(t *testing.T) {
			modules, err := linked(t.Context(), checkout, p)
			require.NoError(t, err)
			require.Greater(t, len(modules), 20)
			all, err := collect(checkout, p, modules)
			require.NoError(t, err)
			assert.Contains(t, string(all.License), "Apache License")
			for _, m := range modules {
				texts, err := m.texts()
				require.NoError(t, err)
				assert.True(t, allowed(strings.Join(texts, "\n")), "%s has another license: ask before you link it", m.path)
				assert.Contains(t, string(all.Notices), "\n"+m.path+" "+m.version+"\n\n"+texts[0])
			}
		})
	}
}

func TestOtherLicensesAreRefused(t *testing.T) {
	for _, text := range []string{"GNU GENERAL PUBLIC LICENSE Version 3", "Business Source License 1.1", "All rights reserved.", ""} {
		assert.False(t, allowed(text), text)
	}
	m := module{"example.com/bare", "v1.0.0", t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(m.directory, "license.go"), []byte("package bare\n"), 0o600))
	_, err := m.texts()
	assert.ErrorContains(t, err, "example.com/bare v1.0.0 has no license")
}
