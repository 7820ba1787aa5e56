// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
)

// The files in testdata/HEAD are one object of each kind with every field set, as JSON, YAML and protobuf. They freeze
// the names, the numbers and the encoding of all fields: objects in etcd and clients that run depend on them. A field
// may be added, and the files regenerated with UPDATE_COMPATIBILITY_FIXTURE_DATA=true; then no line of them may
// change or go, only new ones come.
func TestGoldenBytes(t *testing.T) {
	options := roundtrip.NewCompatibilityTestOptions(newScheme(t))
	options.Kinds = kinds()
	options.Complete(t).Run(t)
}
