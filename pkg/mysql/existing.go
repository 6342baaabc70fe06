package mysql

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

// Reasons why a Mysql does not fit its data.
const (
	// ReasonStorageShrinks: the volume is larger than the requested size.
	ReasonStorageShrinks = "StorageShrinks"
	// ReasonVersionDowngrade: the data are of a later series than the requested version.
	ReasonVersionDowngrade = "VersionDowngrade"
)

// checkData rejects a spec that does not fit the existing volume. ran is the version that last accepted connections, or
// "". Without live objects, it returns nil. The error joins all problems. A claim that another Mysql left is adopted,
// so its size and version count before the objects are created.
func (d *database) checkData(live template.Live, ran string) error {
	claim := live[manifest.ID{Kind: "PersistentVolumeClaim", Namespace: d.namespace, Name: d.volumeName()}]
	if manifest.NestedString(claim, "metadata", "deletionTimestamp") != "" {
		claim = nil // the next claim is new, and empty
	}
	if ran == "" {
		ran = keptVersion(claim)
	}
	return errors.Join(d.checkVolume(claim), d.checkVersion(ran))
}

// checkVolume rejects a spec that would shrink the volume.
func (d *database) checkVolume(claim values) error {
	size := manifest.NestedString(claim, "spec", "resources", "requests", "storage")
	if size == "" {
		return nil // there is no volume yet
	}
	has, err := resource.ParseQuantity(size)
	if err != nil {
		return fmt.Errorf("the size of the volume %s: %w", d.volumeName(), err)
	}
	if has.Cmp(d.storage) <= 0 {
		return nil
	}
	return &template.ValidationError{
		Path: manifest.Path{"spec", "storage"}, Reason: ReasonStorageShrinks,
		Message: fmt.Sprintf("is %s, and the volume %s has %s, which cannot shrink: set it to at least %s, or dump the data into a smaller Mysql",
			d.spec.Storage, d.volumeName(), has.String(), has.String()),
	}
}

// keptVersion returns the version in the label of a claim that an earlier Mysql has left, or "". The label of the claim
// of this Mysql does not count: it changes before the server starts, which may never succeed. Holdfast removes its
// tracking label when it releases an object, so a claim without it was left.
func keptVersion(claim values) string {
	if manifest.NestedString(claim, "metadata", "labels", v1alpha1.LabelApplicationUID) != "" {
		return ""
	}
	return manifest.NestedString(claim, "metadata", "labels", versionLabel)
}

// checkVersion rejects a version of an earlier series than that of the data. Tags such as latest are not
// compared.
func (d *database) checkVersion(ran string) error {
	of, known := seriesOf(ran)
	wanted, hasNumber := seriesOf(d.spec.Version)
	if !known || !hasNumber || !wanted.isBefore(of) {
		return nil
	}
	return &template.ValidationError{
		Path: manifest.Path{"spec", "version"}, Reason: ReasonVersionDowngrade,
		Message: fmt.Sprintf("is %s, and the data are of %s: MySQL does not return to an earlier series. Set it to at least %s, or load a dump of the data into a new Mysql",
			d.spec.Version, ran, of),
	}
}

// series is a series of releases, such as 8.4. Without a minor number, it is the latest one of its major
// number.
//
//	tag           major    minor    isLatest
//	8.4.3         8        4        false
//	8.0-debian    8        0        false
//	9             9        0        true
//	latest        not a series
type series struct {
	major, minor int
	isLatest     bool
}

var seriesPattern = regexp.MustCompile(`^(\d{1,4})(?:\.(\d{1,4}))?(?:[.-]|$)`)

// seriesOf returns the series of a tag, or false if the tag has no number, such as latest.
func seriesOf(tag string) (s series, ok bool) {
	found := seriesPattern.FindStringSubmatch(tag)
	if found == nil {
		return series{}, false
	}
	s.major, _ = strconv.Atoi(found[1])
	s.minor, _ = strconv.Atoi(found[2])
	s.isLatest = found[2] == ""
	return s, true
}

// isBefore reports whether a series is earlier than another one. 8 is not before 8.4, because it can be the same
// release. 8.4 is before 9.
func (s series) isBefore(other series) bool {
	if s.major != other.major {
		return s.major < other.major
	}
	return !s.isLatest && !other.isLatest && s.minor < other.minor
}

// String returns the series as in a tag.
func (s series) String() string {
	if s.isLatest {
		return strconv.Itoa(s.major)
	}
	return fmt.Sprintf("%d.%d", s.major, s.minor)
}
