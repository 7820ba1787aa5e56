// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	fakemetadata "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// failing lets some lists of a resource fail, after some that do not.
func failing(metadata *fakemetadata.FakeMetadataClient, resource string, err error, after, times int) {
	metadata.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		after--
		return after < 0 && after >= -times, nil, err
	})
}

func deletedNames(metadata *fakemetadata.FakeMetadataClient) (names []string) {
	for _, action := range metadata.Actions() {
		if d, ok := action.(clienttesting.DeleteActionImpl); ok {
			names = append(names, d.Name)
		}
	}
	return names
}

var errConversion = apierrors.NewInternalError(errors.New("conversion webhook failed"))

// A failed check proves nothing about what remains: it is retried, and all parts are deleted.
func TestPartsAfterAnOutage(t *testing.T) {
	for name, outage := range map[string]func(*Uninstaller, *fakemetadata.FakeMetadataClient){
		"none":              func(*Uninstaller, *fakemetadata.FakeMetadataClient) {},
		"of a list":         func(_ *Uninstaller, m *fakemetadata.FakeMetadataClient) { failing(m, "services", errConversion, 1, 3) },
		"of the first list": func(_ *Uninstaller, m *fakemetadata.FakeMetadataClient) { failing(m, "services", errConversion, 0, 1) },
		"of discovery": func(u *Uninstaller, _ *fakemetadata.FakeMetadataClient) {
			u.Discovery.(*preferred).errs = []error{nil, errors.New("no response"), errors.New("no response")}
		},
		"of the discovery of a required group": func(u *Uninstaller, _ *fakemetadata.FakeMetadataClient) {
			u.Discovery.(*preferred).Resources = nil
			u.Discovery.(*preferred).errs = []error{&discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "apps", Version: "v1"}: errConversion}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, metadata := inCluster(t, []string{"v1 services", "apps/v1 deployments"},
					labelled("apps/v1", "Deployment", SystemNamespace, "deployment"), labelled("v1", "Service", SystemNamespace, "service"))
				all := u.Discovery.(*preferred).Resources
				outage(u, metadata)
				u.Show = func(string) { u.Discovery.(*preferred).Resources = all }
				line, err := u.deleteParts(t.Context())
				if err != nil || line != "2 objects of the installation have been deleted" {
					t.Errorf("%q, %v", line, err)
				}
				if got, want := deletedNames(metadata), []string{"deployment", "service"}; !slices.Equal(got, want) {
					t.Errorf("deleted %q, want %q", got, want)
				}
			})
		})
	}
}

// Resources that a dead foreign webhook keeps from being listed are named, and nothing waits for them. What the installation is
// made of has to be listed.
func TestUnlistedResources(t *testing.T) { synctest.Test(t, testUnlistedResources) }

func testUnlistedResources(t *testing.T) {
	for resource, test := range map[string]struct {
		group    string
		err      error
		unlisted bool
	}{
		"widgets":     {"example.com", errConversion, true},
		"gadgets":     {"example.com", apierrors.NewServiceUnavailable("no endpoints"), true},
		"secrets":     {"", errConversion, false},
		"roles":       {"rbac.authorization.k8s.io", errConversion, false},
		"leases":      {"coordination.k8s.io", errConversion, false},
		"doodads":     {"example.com", apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), false},
		"deployments": {"apps", apierrors.NewServiceUnavailable("no response"), false},
	} {
		version := strings.TrimPrefix(test.group+"/v1", "/")
		u, metadata := inCluster(t, []string{version + " " + resource, "v1 services"}, labelled("v1", "Service", SystemNamespace, "service"))
		failing(metadata, resource, test.err, 0, 100)
		f := &Found{Contents: map[string]Content{}}
		err := u.inspectParts(t.Context(), f)
		if !test.unlisted {
			if !errors.Is(err, test.err) {
				t.Errorf("%s: %v", resource, err)
			}
			continue
		}
		if err != nil || !slices.Equal(f.Unlisted, []string{resource + ".example.com"}) || len(f.Parts) != 1 {
			t.Errorf("%s: %q, %q, %v", resource, f.Unlisted, f.Parts, err)
		}
		if text := NewPlan(f, defaults).String(); !strings.Contains(text, "are unavailable") || !strings.Contains(text, resource+".example.com") {
			t.Errorf("%s: the plan is\n%s", resource, text)
		}
		line, err := u.deleteParts(t.Context())
		if err != nil || !strings.HasSuffix(line, "may have more: "+resource+".example.com") {
			t.Errorf("%s: %q, %v", resource, line, err)
		}
	}
}

// Groups of others that cannot be discovered are named; Groundskeeper's may not be registered any more.
func TestUndiscoveredGroups(t *testing.T) {
	u, _ := inCluster(t, []string{"v1 services"})
	failed := map[schema.GroupVersion]error{{Group: "example.com", Version: "v1"}: errConversion, {Group: "midonet.org", Version: "v1"}: errConversion}
	u.Discovery.(*preferred).errs = []error{&discovery.ErrGroupDiscoveryFailed{Groups: failed}}
	if _, unlisted, err := u.parts(t.Context()); err != nil || !slices.Equal(unlisted, []string{"example.com/v1"}) {
		t.Errorf("%q, %v", unlisted, err)
	}
}

// Discovery ends with the context.
func TestDiscoveryIsInterrupted(t *testing.T) {
	u, _ := inCluster(t, []string{"v1 services"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := u.parts(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A namespace that is being deleted is recognized.
func TestTerminatingNamespaces(t *testing.T) {
	u, _ := inCluster(t, nil, labelled("v1", "Namespace", "", "stays"), labelled("v1", "Namespace", "", "goes", func(m *metav1.ObjectMeta) {
		m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{"kubernetes"}
	}))
	for name, want := range map[string]bool{"stays": false, "goes": true, "gone": false} {
		if c, err := u.content(t.Context(), name); err != nil || c.Terminating != want {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
