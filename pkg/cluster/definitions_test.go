package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func defined(name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

func TestDefinitionChangesReportResources(t *testing.T) {
	var told []string
	s := &definitionStore{changed: func(r schema.GroupResource) { told = append(told, r.String()) }}
	tell := func() string {
		defer func() { told = nil }()
		return strings.Join(told, " ")
	}

	require.NoError(t, s.Replace([]any{defined("songs.a.example.com", "1"), defined("albums.b.example.com", "2")}, "3"))
	assert.Empty(t, tell(), "the first list is not news")
	require.NoError(t, s.Add(defined("artists.c.example.com", "4")))
	assert.Equal(t, "artists.c.example.com", tell())
	require.NoError(t, s.Update(defined("songs.a.example.com", "5")))
	assert.Equal(t, "songs.a.example.com", tell())
	require.NoError(t, s.Update(defined("songs.a.example.com", "5")))
	assert.Empty(t, tell(), "the same version is not news")
	require.NoError(t, s.Delete(defined("songs.a.example.com", "6")))
	assert.Equal(t, "songs.a.example.com", tell())
	require.NoError(t, s.Replace([]any{defined("albums.b.example.com", "7"), defined("songs.a.example.com", "8")}, "9"))
	assert.ElementsMatch(t, []string{"songs.a.example.com", "albums.b.example.com", "artists.c.example.com"}, strings.Fields(tell()), "what a list shows is news")
	require.NoError(t, s.Resync())
	require.NoError(t, s.Add("text"))
	assert.Empty(t, tell())
}
