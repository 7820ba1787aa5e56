// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestServed(t *testing.T) {
	all := []string{"core.gardener.cloud/v1beta1", "kubernikus.sap.cc/v1", "midonet.org/v1", "gimbal.heptio.com/v1"}
	for flag, want := range map[string][]string{
		"":                                    all,
		"core.gardener.cloud/v1beta1=true":    all,
		"core.gardener.cloud/v1beta1=false":   all[1:],
		"api/beta=false":                      all[1:],
		"api/all=false,midonet.org/v1=true":   all[2:3],
		"api/ga=false,gimbal.heptio.com/v1=1": {all[0], all[3]},
	} {
		o := NewOptions()
		if err := parse(o, flag); err != nil {
			t.Fatalf("%q: %v", flag, err)
		}
		served, err := o.served()
		if err != nil {
			t.Errorf("%q: %v", flag, err)
		}
		var got []string
		for _, version := range served {
			got = append(got, version.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v are served, want %v", flag, got, want)
		}
	}
}

func TestServedRejects(t *testing.T) {
	for flag, want := range map[string]string{
		"apps/v1=false": "unknown api groups apps/v1",
		"core.gardener.cloud/v1beta1/projects=false": "is a resource",
		"api/all=false":                  "api/all=false",
		"api/ga=false,api/beta=false":    "nothing would be served",
		"core.gardener.cloud/v1beta1=no": "no",
	} {
		o := NewOptions()
		if err := parse(o, flag); err != nil {
			t.Fatalf("%q: %v", flag, err)
		}
		_, err := o.served()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--runtime-config") {
			t.Errorf("%q: error %v, want %q", flag, err, want)
		}
		if invalid := o.Validate(); err != nil && (invalid == nil || !strings.Contains(invalid.Error(), err.Error())) {
			t.Errorf("%q: the options are valid except for %v", flag, invalid)
		}
	}
}

// TestUnservedKindsAreNotChanged checks that a server does not change the registration of APIs that another one serves, nor the
// namespaces of their objects.
func TestUnservedKindsAreNotChanged(t *testing.T) {
	o := NewOptions()
	if err := parse(o, "core.gardener.cloud/v1beta1=false"); err != nil {
		t.Fatal(err)
	}
	served, err := o.served()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range registrations(served) {
		if strings.Contains(target.Name(), "gardener") {
			t.Errorf("%s would receive the CA of Groundskeeper", target.Name())
		}
	}
	if prefix := projectKeys(served); prefix != "" {
		t.Errorf("the store lists Projects below %q", prefix)
	}
	if prefix := projectKeys(known()); prefix != "core.gardener.cloud/projects" {
		t.Errorf("the store lists Projects below %q", prefix)
	}
}

func parse(o *Options, runtimeConfig string) error {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	if runtimeConfig == "" {
		return fs.Parse(nil)
	}
	return fs.Parse([]string{"--runtime-config=" + runtimeConfig})
}
