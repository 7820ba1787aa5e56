// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

func clone(m map[string]string) map[string]string { return maps.Clone(m) }

// equateEmpty treats no annotations and empty annotations as equal.
func equateEmpty() cmp.Option { return cmpopts.EquateEmpty() }

func alice() user.Info { return &user.DefaultInfo{Name: "alice"} }
func robot() user.Info { return &user.DefaultInfo{Name: "system:serviceaccount:garden-dev:robot"} }

// deletion returns a request of a user that is about to delete an object.
func deletion(old runtime.Object, resource string, who user.Info) admission.Attributes {
	gv := kubernikusv1.SchemeGroupVersion
	if resource == "projects" {
		gv = gardenerv1beta1.SchemeGroupVersion
	}
	return admission.NewAttributesRecord(nil, old, gv.WithKind("Any"), "", "", gv.WithResource(resource), "",
		admission.Delete, &metav1.DeleteOptions{}, false, who)
}

// serving returns the plugin in a server that has these Projects.
func serving(projects ...runtime.Object) (*Plugin, *fake.Clientset) {
	client := fake.NewClientset(projects...)
	plugin := New()
	plugin.SetClient(client)
	return plugin, client
}

const rejection = `must have a "confirmation.gardener.cloud/deletion" annotation to delete`

func TestValidateNeedsTheConfirmation(t *testing.T) {
	for _, tc := range []struct {
		name        string
		annotations map[string]string
		rejected    bool
	}{
		{"none", nil, true},
		{"the record alone", annotations(by, "bob"), true},
		{"true", annotations(confirm, "true"), false},
		{"false", annotations(confirm, "false"), true},
		{"empty", annotations(confirm, ""), true},
		{"another word", annotations(confirm, "yes"), true},
	} {
		for resource, object := range map[string]runtime.Object{
			"projects": &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "demo", Annotations: tc.annotations}},
			"klusters": &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "garden-dev", Annotations: tc.annotations}},
		} {
			t.Run(tc.name+", "+resource, func(t *testing.T) {
				plugin, _ := serving()
				err := plugin.Validate(t.Context(), deletion(object, resource, alice()), nil)
				switch {
				case !tc.rejected && err != nil:
					t.Error(err)
				case tc.rejected && (!apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), ` "demo" is forbidden: `+rejection) || !strings.HasPrefix(err.Error(), resource)):
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// TestValidateLeavesOthersAlone checks that objects that are being deleted already, or are not guarded, are not checked.
func TestValidateLeavesOthersAlone(t *testing.T) {
	now := metav1.Now()
	deleting := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "garden-dev", DeletionTimestamp: &now}}
	living := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "garden-dev"}}
	plugin, client := serving()
	for name, request := range map[string]admission.Attributes{
		"being deleted":    deletion(deleting, "klusters", alice()),
		"another resource": deletion(living, "others", alice()),
		"an update":        write(living, living, "klusters", ""),
	} {
		if err := plugin.Validate(t.Context(), request, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if actions := client.Actions(); len(actions) > 0 {
		t.Errorf("requests to the server = %v", actions)
	}
}

// An object that cannot be checked is not deleted.
func TestValidateWithoutAnObject(t *testing.T) {
	plugin, _ := serving()
	if err := plugin.Validate(t.Context(), deletion(nil, "klusters", alice()), nil); !apierrors.IsInternalError(err) {
		t.Errorf("got %v", err)
	}
}

func TestValidateInitialization(t *testing.T) {
	plugin := New()
	if err := plugin.ValidateInitialization(); err == nil {
		t.Error("it is content without a client")
	}
	plugin.SetClient(fake.NewClientset())
	if err := plugin.ValidateInitialization(); err != nil {
		t.Error(err)
	}
	for _, operation := range []admission.Operation{admission.Create, admission.Update, admission.Delete} {
		if !plugin.Handles(operation) {
			t.Errorf("does not handle %s", operation)
		}
	}
}
