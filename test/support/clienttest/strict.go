// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// NewStrict returns a fake client that does what a server does and a fake one does not: every write makes a new
// resource version, and a request for another object or another version is rejected.
func NewStrict(t testing.TB, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	var version atomic.Int64
	stamp := func(object runtime.Object) {
		accessor, err := meta.Accessor(object)
		if err != nil {
			t.Error(err)
			return
		}
		accessor.SetResourceVersion(strconv.FormatInt(version.Add(1), 10))
		if accessor.GetUID() == "" {
			accessor.SetUID(types.UID("uid-" + accessor.GetResourceVersion()))
		}
	}
	stamped := make([]runtime.Object, 0, len(objects))
	for _, object := range objects {
		object = object.DeepCopyObject()
		stamp(object)
		stamped = append(stamped, object)
	}
	client := fake.NewClientset(stamped...)
	tracker := client.Tracker()
	// check returns the object that an action is about, when it is the one that is meant.
	check := func(action ktesting.Action, name string, uid *types.UID, version *string) (runtime.Object, error) {
		object, err := tracker.Get(action.GetResource(), action.GetNamespace(), name)
		if err != nil {
			return nil, err
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		if uid != nil && *uid != accessor.GetUID() || version != nil && *version != accessor.GetResourceVersion() {
			return nil, apierrors.NewConflict(action.GetResource().GroupResource(), name, fmt.Errorf("it is %s, %s", accessor.GetUID(), accessor.GetResourceVersion()))
		}
		return object, nil
	}
	client.PrependReactor("create", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		stamp(action.(ktesting.CreateAction).GetObject())
		return false, nil, nil
	})
	client.PrependReactor("update", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		stamp(action.(ktesting.UpdateAction).GetObject())
		return false, nil, nil
	})
	client.PrependReactor("delete", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		deletion := action.(ktesting.DeleteActionImpl)
		conditions := deletion.DeleteOptions.Preconditions
		if conditions == nil {
			conditions = &metav1.Preconditions{}
		}
		_, err := check(action, deletion.Name, conditions.UID, conditions.ResourceVersion)
		return err != nil, nil, err
	})
	client.PrependReactor("patch", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		patch := action.(ktesting.PatchAction)
		var changes map[string]any
		var guarded metav1.PartialObjectMetadata
		if err := json.Unmarshal(patch.GetPatch(), &changes); err != nil {
			return true, nil, err
		}
		if err := json.Unmarshal(patch.GetPatch(), &guarded); err != nil {
			return true, nil, err
		}
		object, err := check(action, patch.GetName(), &guarded.UID, &guarded.ResourceVersion)
		if err != nil {
			return true, nil, err
		}
		patched := reflect.New(reflect.TypeOf(object).Elem()).Interface().(runtime.Object)
		text, err := json.Marshal(object)
		if err != nil {
			return true, nil, err
		}
		var current map[string]any
		if err := json.Unmarshal(text, &current); err != nil {
			return true, nil, err
		}
		if text, err = json.Marshal(merge(current, changes)); err != nil {
			return true, nil, err
		}
		if err := json.Unmarshal(text, patched); err != nil {
			return true, nil, err
		}
		stamp(patched)
		return true, patched, tracker.Update(action.GetResource(), patched, action.GetNamespace())
	})
	return client
}

// merge applies a JSON merge patch, RFC 7386.
func merge(current, changes map[string]any) map[string]any {
	merged := maps.Clone(current)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range changes {
		switch value := value.(type) {
		case nil:
			delete(merged, key)
		case map[string]any:
			before, _ := merged[key].(map[string]any)
			merged[key] = merge(before, value)
		default:
			merged[key] = value
		}
	}
	return merged
}
