// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package terminationprotection

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

const annotation = "kubernikus.cloud.sap/termination-protection"

func kluster(annotations map[string]string) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: "demo", Annotations: annotations}}
}

// deletion returns a DELETE of the object with the name, a DELETECOLLECTION without one.
func deletion(old runtime.Object, resource schema.GroupVersionResource, subresource, name string) admission.Attributes {
	return admission.NewAttributesRecord(nil, old, kubernikusv1.SchemeGroupVersion.WithKind("Kluster"), "garden-dev", name, resource, subresource,
		admission.Delete, &metav1.DeleteOptions{}, false, &user.DefaultInfo{Name: "alice"})
}

func TestValidate(t *testing.T) {
	klusters := kubernikusv1.SchemeGroupVersion.WithResource("klusters")
	deleting := kluster(map[string]string{annotation: "true"})
	deleting.DeletionTimestamp = new(metav1.Now())
	for _, tc := range []struct {
		name     string
		kluster  *kubernikusv1.Kluster
		rejected bool
	}{
		{"no annotation", kluster(nil), false},
		{"another annotation", kluster(map[string]string{"termination-protection": "true"}), false},
		{"true", kluster(map[string]string{annotation: "true"}), true},
		{"any other value", kluster(map[string]string{annotation: "false"}), true},
		{"no value", kluster(map[string]string{annotation: ""}), false},
		{"confirmed", kluster(map[string]string{annotation: "true", gardenerv1beta1.AnnotationConfirmDeletion: "true"}), true},
		{"detached", kluster(map[string]string{annotation: "true", kubernikusv1.DetachAnnotation: "true"}), true},
		{"being deleted already", deleting, false},
	} {
		for request, name := range map[string]string{"DELETE": "demo", "DELETECOLLECTION": ""} {
			t.Run(tc.name+", "+request, func(t *testing.T) {
				err := New().Validate(t.Context(), deletion(tc.kluster, klusters, "", name), nil)
				if !tc.rejected {
					if err != nil {
						t.Error(err)
					}
					return
				}
				want := `klusters.kubernikus.sap.cc "demo" is forbidden: metadata.annotations[` + annotation + `] protects it: remove the annotation to delete it ` +
					`(kubectl annotate kluster --namespace garden-dev demo ` + annotation + `-)`
				if !apierrors.IsForbidden(err) || err.Error() != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			})
		}
	}
}

// Nothing else is checked.
func TestValidateLeavesOthersAlone(t *testing.T) {
	protected := kluster(map[string]string{annotation: "true"})
	klusters := kubernikusv1.SchemeGroupVersion.WithResource("klusters")
	for name, request := range map[string]admission.Attributes{
		"another resource":        deletion(protected, kubernikusv1.SchemeGroupVersion.WithResource("others"), "", "demo"),
		"klusters of another API": deletion(protected, gardenerv1beta1.SchemeGroupVersion.WithResource("klusters"), "", "demo"),
		"a subresource":           deletion(protected, klusters, "status", "demo"),
	} {
		if err := New().Validate(t.Context(), request, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for operation, want := range map[admission.Operation]bool{admission.Delete: true, admission.Create: false, admission.Update: false} {
		if got := New().Handles(operation); got != want {
			t.Errorf("handles %s: %t", operation, got)
		}
	}
}

// An object that cannot be checked is not deleted.
func TestValidateWithoutAKluster(t *testing.T) {
	for _, object := range []runtime.Object{nil, &gardenerv1beta1.Project{}} {
		err := New().Validate(t.Context(), deletion(object, kubernikusv1.SchemeGroupVersion.WithResource("klusters"), "", "demo"), nil)
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "is not a Kluster") {
			t.Errorf("%T: %v", object, err)
		}
	}
}
