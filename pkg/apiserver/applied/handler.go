// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package applied brings what clients apply to the form in which it is stored, before the library compares the two.
//
// Server-side apply compares the manifest of one manager with what is stored, and a manifest that spells a member of a
// Project in another way conflicts with the manager that applied the same before. Defaulting comes too late: it sees the result.
package applied

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// GetProject reads a Project in its stored form.
type GetProject func(ctx context.Context, name string) (*gardenerv1beta1.Project, error)

// Handler normalizes the Projects that are applied, and passes all other requests on unchanged. Bodies of more than limit
// bytes are left to the next handler, which rejects them; 0 is no limit.
func Handler(next http.Handler, limit int64, get GetProject) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAppliedProject(r) {
			next.ServeHTTP(w, r)
			return
		}
		var source io.Reader = r.Body
		if limit > 0 {
			source = io.LimitReader(r.Body, limit+1)
		}
		body, err := io.ReadAll(source)
		changed := r.Clone(r.Context())
		if normal, ok := normalized(r.Context(), body, get); ok && err == nil && (limit <= 0 || int64(len(body)) <= limit) {
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

// isAppliedProject reports whether a request applies a Project.
func isAppliedProject(r *http.Request) bool {
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok || info.Verb != "patch" || info.APIGroup != gardenerv1beta1.GroupName || info.Resource != "projects" || info.Subresource != "" {
		return false
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == string(types.ApplyYAMLPatchType)
}

// normalized returns a manifest with the members and the owner in the form in which they are stored; false when it is in
// that form already, or not one that can be read. The library then reports the error.
func normalized(ctx context.Context, manifest []byte, get GetProject) ([]byte, bool) {
	data, err := yaml.YAMLToJSONStrict(manifest)
	if err != nil {
		return nil, false
	}
	var object map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &object) != nil {
		return nil, false
	}
	changed := normalizeProject(object)
	info, _ := request.RequestInfoFrom(ctx)
	if lacksOwner(object) {
		// A Project that does not exist yet, or cannot be read, is left to the library.
		if stored, err := get(ctx, info.Name); err == nil && addOwner(object, &stored.Spec) {
			changed = true
		}
	}
	if !changed {
		return nil, false
	}
	data, err = yaml.Marshal(object)
	return data, err == nil
}
