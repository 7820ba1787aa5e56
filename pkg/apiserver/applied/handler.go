// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package applied brings what clients apply to the form in which it is stored, before the library compares the two.
//
// Server-side apply compares the manifest of one manager with what is stored, and a manifest that has an empty value which the
// stored form omits, or spells a member of a Project in another way, conflicts with the manager that applied the same before.
// Defaulting comes too late: it sees the result.
package applied

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Get reads the object of a request in its stored form.
type Get func(ctx context.Context, r *request.RequestInfo) (runtime.Object, error)

// Handler normalizes the objects of the kinds of a scheme that are applied, and passes all other requests on unchanged. Bodies of
// more than limit bytes are left to the next handler, which rejects them; 0 is no limit.
func Handler(next http.Handler, limit int64, kinds *runtime.Scheme, get Get) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !isApplied(r, info, kinds) {
			next.ServeHTTP(w, r)
			return
		}
		var source io.Reader = r.Body
		if limit > 0 {
			source = io.LimitReader(r.Body, limit+1)
		}
		body, err := io.ReadAll(source)
		changed := r.Clone(r.Context())
		if normal, ok := normalized(r.Context(), body, info, kinds, get); ok && err == nil && (limit <= 0 || int64(len(body)) <= limit) {
			changed.Body, changed.ContentLength = closing{bytes.NewReader(normal), r.Body}, int64(len(normal))
		} else {
			// An invalid body is rejected by the next handler, which reads it again.
			changed.Body = closing{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		}
		next.ServeHTTP(w, changed)
	})
}

// closing is a body that closes the one that it replaces.
type closing struct {
	io.Reader
	io.Closer
}

// isApplied reports whether a request applies an object of one of the kinds, not only its status.
func isApplied(r *http.Request, info *request.RequestInfo, kinds *runtime.Scheme) bool {
	if info.Verb != "patch" || info.Subresource != "" || !kinds.IsGroupRegistered(info.APIGroup) {
		return false
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == string(types.ApplyYAMLPatchType)
}

// normalized returns a manifest in the form in which it is stored, where the two mean the same; false when it is in that form
// already, or not one that can be read. The library then reports the error.
func normalized(ctx context.Context, manifest []byte, info *request.RequestInfo, kinds *runtime.Scheme, get Get) ([]byte, bool) {
	data, err := yaml.YAMLToJSONStrict(manifest)
	if err != nil {
		return nil, false
	}
	var fields map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &fields) != nil {
		return nil, false
	}
	// The stored object is read once, and only for a manifest that it can change.
	stored := sync.OnceValues(func() (runtime.Object, error) { return get(ctx, info) })
	changed := normalizeMembers(fields, info, stored)
	if normalizeEmpty(fields, info, kinds, stored) {
		changed = true
	}
	if !changed {
		return nil, false
	}
	data, err = yaml.Marshal(fields)
	return data, err == nil
}

// normalizeMembers brings the owner and the members of a Project to their stored form.
func normalizeMembers(fields map[string]any, info *request.RequestInfo, stored func() (runtime.Object, error)) bool {
	if info.APIGroup != gardenerv1beta1.GroupName || info.Resource != "projects" {
		return false
	}
	changed := normalizeProject(fields)
	if lacksOwner(fields) {
		// A Project that does not exist yet, or cannot be read, is left to the library.
		object, err := stored()
		if project, ok := object.(*gardenerv1beta1.Project); ok && err == nil && addOwner(fields, &project.Spec) {
			changed = true
		}
	}
	return changed
}

// normalizeEmpty removes the empty values that are stored as if they were absent.
func normalizeEmpty(fields map[string]any, info *request.RequestInfo, kinds *runtime.Scheme, stored func() (runtime.Object, error)) bool {
	content := unstructured.Unstructured{Object: fields}
	kind := content.GroupVersionKind()
	object, err := kinds.New(kind)
	if err != nil || kind.Group != info.APIGroup {
		return false
	}
	form := formOf(fields, object, kinds.Default)
	if form == nil || !form.differs() {
		return false
	}
	switch object, err = stored(); {
	case apierrors.IsNotFound(err):
		return form.adopt(nil, kinds.Default)
	case err != nil: // what an empty value would reset is unknown
		return false
	}
	return form.adopt(object, kinds.Default)
}
