// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package gardenerconfig reads the configuration file of Gardener's controller manager, so that its users need not
// write a new one. Fields of Gardener that Groundskeeper supports take effect; the others are ignored, and reported.
package gardenerconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/configfile"
)

// Kind returns the type of Gardener's file.
func Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "controllermanager.config.gardener.cloud", Version: "v1alpha1",
		Kind: "ControllerManagerConfiguration"}
}

// File is a configuration file.
type File struct {
	// Config is the configuration in Groundskeeper's format. It is neither defaulted nor validated.
	Config *v1alpha1.ControllerManagerConfiguration
	// Ignored are the paths of the fields that Groundskeeper does not support, sorted.
	Ignored []string

	lines   configfile.Lines
	renamed []rename
}

// rename maps a field of Groundskeeper to one of Gardener.
type rename struct{ own, theirs string }

// Load parses a file of Groundskeeper's format, or of Gardener's.
func Load(data []byte) (*File, error) {
	if configfile.APIVersion(data) == Kind().GroupVersion().String() {
		return Decode(data)
	}
	config, lines, err := configfile.Decode[v1alpha1.ControllerManagerConfiguration](data,
		v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ControllerManagerConfigurationKind))
	if err != nil {
		return nil, err
	}
	return &File{Config: config, lines: lines}, nil
}

// Decode parses a file of Gardener's. An unknown field in a supported section is an error with its name and line; sections of other
// controllers are ignored.
func Decode(data []byte) (*File, error) {
	theirs, lines, err := configfile.Decode[configuration](data, Kind())
	if err != nil {
		return nil, err
	}
	f := &File{Config: &v1alpha1.ControllerManagerConfiguration{}, lines: lines}
	f.Config.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ControllerManagerConfigurationKind))
	var errs configfile.Errors
	for _, convert := range []func(*configuration) error{f.connection, f.election, f.log, f.project, f.server} {
		if err := convert(theirs); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	f.ignoreRest(theirs)
	slices.Sort(f.Ignored)
	return f, nil
}

// Place puts an error about a field of Groundskeeper where its reader finds it: at the line and under the name in the file.
func (f *File) Place(err *field.Error) error {
	for _, r := range f.renamed {
		if rest, ok := strings.CutPrefix(err.Field, r.own); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			placed := *err
			placed.Field = r.theirs + rest
			return f.lines.At(placed.Field, &placed)
		}
	}
	return f.lines.At(err.Field, err)
}

// rename notes the name of a field in the file. The more specific one comes first.
func (f *File) rename(own, theirs string) {
	f.renamed = append(f.renamed, rename{own, theirs})
}

// ignore notes a field of Gardener's, when it is set.
func (f *File) ignore(path string, value json.RawMessage) {
	if len(value) > 0 && string(value) != "null" {
		f.Ignored = append(f.Ignored, path)
	}
}

func (f *File) ignoreRest(c *configuration) {
	for path, value := range map[string]json.RawMessage{
		"seedClientConnection": c.SeedClientConnection, "shootClientConnection": c.ShootClientConnection,
		"shootBackup": c.ShootBackup, "discovery": c.Discovery, "kubernetesLogLevel": c.KubernetesLogLevel,
		"debugging": c.Debugging, "featureGates": c.FeatureGates,
	} {
		f.ignore(path, value)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Controllers)) {
		if name != "project" {
			f.ignore("controllers."+name, c.Controllers[name])
		}
	}
}

// either returns the one of two fields that is set; both are one too many.
func either[T any](f *File, own, newer string, a *T, older string, b *T) (*T, error) {
	switch {
	case a != nil && b != nil:
		return nil, f.lines.At(older, fmt.Errorf("%s and %s are two names of one field: keep one", older, newer))
	case b != nil:
		f.rename(own, older)
		return b, nil
	default:
		f.rename(own, newer)
		return a, nil
	}
}

// set returns nil for zero: in Gardener, zero is an omitted number.
func set[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}
