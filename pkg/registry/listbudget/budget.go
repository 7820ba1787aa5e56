// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package listbudget limits the memory that the responses to lists take together.
//
// The library writes a list as JSON or protobuf one object after the other, and everything else (Tables, YAML, indented JSON) as a
// whole. Priority and fairness does not limit the memory of those: it counts each list as if it was written in pieces, at most ten
// seats, and requests of administrators not at all.
package listbudget

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// retryAfter is after how many seconds a client tries again.
const retryAfter = 1

// Budget is the memory for the responses of one server.
type Budget struct {
	mu        sync.Mutex
	total     int64
	available int64
}

// New returns a budget of a number of bytes.
func New(total int64) *Budget { return &Budget{total: total, available: total} }

// reservation is what the response to one request takes of a budget.
type reservation struct {
	budget *Budget
	form   form
	taken  int64
}

// form is how a response is written.
type form struct {
	// factor is how many times the stored size of its objects it takes while it is built, 0 when it is written in pieces.
	factor int64
	// metadata reports that it has only the metadata of the objects.
	metadata bool
}

// key is the key of a reservation in a context.
type key struct{}

// Handler lets the lists that the next handler serves reserve memory until their responses have been written.
func (b *Budget) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || info.Verb != "list" {
			next.ServeHTTP(w, r)
			return
		}
		form := formOf(r)
		if form.factor == 0 {
			next.ServeHTTP(w, r)
			return
		}
		reserved := &reservation{budget: b, form: form}
		defer reserved.release()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, reserved)))
	})
}

// Reserve takes the memory of the response with a list. When there is not enough, it returns the error 429 for the client.
func Reserve(ctx context.Context, list runtime.Object) error {
	reserved, ok := ctx.Value(key{}).(*reservation)
	if !ok || reserved.take(cost(list, reserved.form)) {
		return nil
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("the response with %d objects is written as a whole, and other such responses take the memory for it: "+
		"try again later, request pages (limit=500), or a list as JSON that is not indented", meta.LenList(list)), retryAfter)
}

// take reserves a number of bytes, or all there are for what takes more: it is served alone.
func (r *reservation) take(bytes int64) bool {
	b := r.budget
	bytes = min(bytes, b.total)
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.available {
		return false
	}
	b.available -= bytes
	r.taken += bytes
	return true
}

func (r *reservation) release() {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.available += r.taken
}

// Factors by which a response is larger than its stored objects while it is built: the objects, and a buffer that doubles. For YAML,
// they are converted to JSON and to a tree of nodes before.
const (
	asJSON = 4
	asYAML = 32
)

// formOf returns the form of the response to a list, the largest if the client accepts several.
func formOf(r *http.Request) form {
	accepted := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	table, metadata := strings.Contains(accepted, "as=table"), strings.Contains(accepted, "as=partialobjectmetadatalist")
	switch {
	case strings.Contains(accepted, "yaml"):
		return form{factor: asYAML}
	case table, metadata, isIndented(r):
		return form{factor: asJSON, metadata: metadata && !table}
	}
	return form{}
}

// isIndented follows the library: it indents what browsers and tools on the command line read.
func isIndented(r *http.Request) bool {
	if query := r.URL.Query().Get("pretty"); query != "" {
		return strings.ContainsAny(query[:1], "1tT")
	}
	for _, agent := range []string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent(), agent) {
			return true
		}
	}
	return false
}

// overhead is what each object takes in addition, in bytes: its fields in memory, and its row of a Table.
const overhead = 1 << 10

// cost returns how many bytes a response with a list takes at most.
func cost(list runtime.Object, form form) int64 {
	var bytes int64
	// The function returns no error, and each list of Groundskeeper's kinds has items.
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		bytes += sizeOf(object, form.metadata)*form.factor + overhead
		return nil
	})
	return bytes
}

// sizeOf returns the stored size of an object, or of its metadata.
func sizeOf(object runtime.Object, metadata bool) int64 {
	stored := any(object)
	if accessor, ok := object.(metav1.ObjectMetaAccessor); ok && metadata {
		stored = accessor.GetObjectMeta()
	}
	if sized, ok := stored.(interface{ Size() int }); ok {
		return int64(sized.Size())
	}
	return 0
}
