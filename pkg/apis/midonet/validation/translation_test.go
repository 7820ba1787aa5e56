// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// change is one thing done to a good Translation, and fragments of the one error it must lead to; none: it is allowed.
type change struct {
	name   string
	mutate func(*midonetv1.Translation)
	want   []string
}

const (
	parent = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	port   = `{"id":"430a6186-91cf-5c7a-8443-44319822637a","type":"Bridge"}`
	link   = `{"portId":null,"peerId":"034cc5d7-b2d9-55ef-a253-61424c89eb07"}`
)

func pod(name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: "00000000-0000-4000-8000-000000000101"}
}

func goodTranslation() *midonetv1.Translation {
	return &midonetv1.Translation{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pod.4.web-0", Namespace: "default", ResourceVersion: "1", Generation: 1,
			Labels:          map[string]string{midonetv1.LabelOwnerUID: "00000000-0000-4000-8000-000000000101"},
			OwnerReferences: []metav1.OwnerReference{pod("web-0")},
			Finalizers:      []string{midonetv1.FinalizerName},
		},
		Resources: []midonetv1.BackendResource{
			{Kind: "Port", Parent: parent, Body: port},
			{Kind: "PortLink", Parent: parent, Body: link},
		},
	}
}

// whole adds what the generated validation finds, as the server does.
func whole(t *testing.T, errs field.ErrorList, translation, old *midonetv1.Translation, subresources ...string) field.ErrorList {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := midonetv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if old == nil {
		return append(errs, scheme.Validate(t.Context(), nil, translation, subresources...)...)
	}
	return append(errs, scheme.ValidateUpdate(t.Context(), nil, translation, old, subresources...)...)
}

func expect(t *testing.T, errs field.ErrorList, fragments []string) {
	t.Helper()
	if len(fragments) == 0 {
		if len(errs) != 0 {
			t.Errorf("rejected: %v", errs.ToAggregate())
		}
		return
	}
	if len(errs) != 1 {
		t.Fatalf("%d errors, want exactly one with %q: %v", len(errs), fragments, errs.ToAggregate())
	}
	for _, fragment := range fragments {
		if !strings.Contains(errs[0].Error(), fragment) {
			t.Errorf("error %q does not contain %q", errs[0], fragment)
		}
	}
}

// owners returns the rules for the owner, which apply to creation and changes.
func owners() []change {
	return []change{
		{"no owner", func(o *midonetv1.Translation) { o.OwnerReferences = nil }, nil},
		{"global without owner", func(o *midonetv1.Translation) {
			o.OwnerReferences, o.Labels = nil, map[string]string{midonetv1.LabelGlobal: ""}
		}, nil},
		{"owner uid and label part, as after an orphaning deletion", func(o *midonetv1.Translation) {
			o.Labels[midonetv1.LabelOwnerUID] = "another"
		}, nil},
		{"two owners", func(o *midonetv1.Translation) {
			o.OwnerReferences = append(o.OwnerReferences, pod("web-1"))
		}, []string{"metadata.ownerReferences: Invalid value", "at most one owner", "remove the others"}},
		{"global with an owner", func(o *midonetv1.Translation) {
			o.Labels = map[string]string{midonetv1.LabelGlobal: ""}
		}, []string{"metadata.ownerReferences: Forbidden", "midonet.org/global", "remove the owner references, or the label"}},
		{"global with two owners", func(o *midonetv1.Translation) {
			o.Labels = map[string]string{midonetv1.LabelGlobal: "", midonetv1.LabelOwnerUID: "x"}
			o.OwnerReferences = append(o.OwnerReferences, pod("web-1"))
		}, []string{"metadata.ownerReferences: Forbidden"}},
	}
}

func TestValidateTranslation(t *testing.T) {
	for _, tc := range append(owners(), []change{
		{"good", func(*midonetv1.Translation) {}, nil},
		{"name of an original", func(o *midonetv1.Translation) {
			o.Name = "endpoints-port.4.kube-dns-dns-10.96.0.10-10.1.0.7-53-udp-87716aa021bf6326f6b2b40ecf262786e60e0c3b"
		}, nil},
		{"name with capitals", func(o *midonetv1.Translation) { o.Name = "Pod.4.web-0" }, []string{"metadata.name: Invalid value"}},
		{"no namespace", func(o *midonetv1.Translation) { o.Namespace = "" }, []string{"metadata.namespace: Required value"}},
		{"bad label", func(o *midonetv1.Translation) { o.Labels["midonet.org/owner-uid"] = "a b" }, []string{"metadata.labels: Invalid value"}},
	}...) {
		t.Run(tc.name, func(t *testing.T) {
			translation := goodTranslation()
			tc.mutate(translation)
			expect(t, whole(t, ValidateTranslation(translation), translation, nil), tc.want)
		})
	}
}

func TestValidateTranslationUpdate(t *testing.T) {
	for _, tc := range append(owners(), []change{
		{"nothing", func(*midonetv1.Translation) {}, nil},
		{"another owner, as when one is recreated", func(o *midonetv1.Translation) {
			o.OwnerReferences[0].UID = "00000000-0000-4000-8000-000000000102"
			o.Labels[midonetv1.LabelOwnerUID] = "00000000-0000-4000-8000-000000000102"
		}, nil},
		{"shrink", func(o *midonetv1.Translation) { o.Resources = o.Resources[:1] }, nil},
		{"shrink to nothing", func(o *midonetv1.Translation) { o.Resources = nil }, nil},
		{"another body", func(o *midonetv1.Translation) { o.Resources[0].Body = `{"type":"Router"}` }, nil},
		{"bad body", func(o *midonetv1.Translation) { o.Resources[0].Body = `{` }, []string{"resources[0].body: Invalid value"}},
		{"bad parent", func(o *midonetv1.Translation) { o.Resources[1].Parent = "x" }, []string{"resources[1].parent: Invalid value"}},
		{"another name", func(o *midonetv1.Translation) { o.Name = "other" }, []string{"metadata.name: Invalid value", "immutable"}},
	}...) {
		t.Run(tc.name, func(t *testing.T) {
			old, translation := goodTranslation(), goodTranslation()
			tc.mutate(translation)
			expect(t, whole(t, ValidateTranslationUpdate(translation, old), translation, old), tc.want)
		})
	}
}

// An object that an older server or an import stored may break a rule. A change that does not touch the invalid field is valid.
func TestValidateTranslationUpdateAcceptsStoredObjects(t *testing.T) {
	stored := goodTranslation()
	stored.OwnerReferences = append(stored.OwnerReferences, pod("web-1"))
	stored.Resources = append(stored.Resources, midonetv1.BackendResource{Kind: "port", Parent: "x", Body: "x"})
	for _, tc := range []change{
		{"finalizer removed", func(o *midonetv1.Translation) { o.Finalizers = nil }, nil},
		{"label", func(o *midonetv1.Translation) { o.Labels["a"] = "b" }, nil},
		{"resources mended, owners not", func(o *midonetv1.Translation) { o.Resources = o.Resources[:2] }, nil},
		{"owners mended, resources not", func(o *midonetv1.Translation) { o.OwnerReferences = o.OwnerReferences[:1] }, nil},
		{"made global", func(o *midonetv1.Translation) { o.Labels[midonetv1.LabelGlobal] = "" }, []string{"metadata.ownerReferences: Forbidden"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			translation := stored.DeepCopy()
			tc.mutate(translation)
			expect(t, whole(t, ValidateTranslationUpdate(translation, stored), translation, stored), tc.want)
		})
	}
}

func TestValidateTranslationStatusUpdate(t *testing.T) {
	condition := metav1.Condition{
		Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue, Reason: "Pushed", ObservedGeneration: 1,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	resource := midonetv1.BackendResourceStatus{Kind: "Port", ID: "430a6186-91cf-5c7a-8443-44319822637a", State: midonetv1.BackendResourceSynced}
	for _, tc := range []change{
		{"good", func(*midonetv1.Translation) {}, nil},
		{"empty", func(o *midonetv1.Translation) { o.Status = midonetv1.TranslationStatus{} }, nil},
		{"resource without id", func(o *midonetv1.Translation) { o.Status.Resources[0].ID = "" }, nil},
		{"every state", func(o *midonetv1.Translation) {
			for _, state := range []midonetv1.BackendResourceState{"Pending", "Drifted", "Failed", "Deleting", "NotApplicable"} {
				o.Status.Resources = append(o.Status.Resources, midonetv1.BackendResourceStatus{Kind: "Port", State: state})
			}
		}, nil},
		{"unknown state", func(o *midonetv1.Translation) { o.Status.Resources[0].State = "Fine" }, []string{"status.resources[0].state: Unsupported value"}},
		{"no state", func(o *midonetv1.Translation) { o.Status.Resources[0].State = "" }, []string{"status.resources[0].state: Required value"}},
		{"no kind", func(o *midonetv1.Translation) { o.Status.Resources[0].Kind = "" }, []string{"status.resources[0].kind: Required value"}},
		{"negative generation", func(o *midonetv1.Translation) { o.Status.ObservedGeneration = -1 }, []string{"status.observedGeneration: Invalid value"}},
		{"condition without reason", func(o *midonetv1.Translation) { o.Status.Conditions[0].Reason = "" }, []string{"status.conditions[0].reason: Required value"}},
		{"condition twice", func(o *midonetv1.Translation) {
			o.Status.Conditions = append(o.Status.Conditions, condition)
		}, []string{"status.conditions[1]: Duplicate value"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, translation := goodTranslation(), goodTranslation()
			translation.Status = midonetv1.TranslationStatus{
				ObservedGeneration: 1,
				Conditions:         []metav1.Condition{condition},
				Resources:          []midonetv1.BackendResourceStatus{resource},
			}
			tc.mutate(translation)
			expect(t, whole(t, ValidateTranslationStatusUpdate(translation, old), translation, old, "status"), tc.want)
		})
	}
}
