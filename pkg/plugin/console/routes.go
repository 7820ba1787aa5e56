// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// assets are the page, built from the directory page by "make console".
//
//go:embed assets
var assets embed.FS

// maxFound is how many objects a search returns at most.
const maxFound = 200

// Results are the objects that a search found.
type Results struct {
	Found []Found `json:"found"`
	// Total is how many there are.
	Total int `json:"total"`
}

// routes returns the page and its data.
func routes(r *reader, g *guard) http.Handler {
	mux := http.NewServeMux()
	page, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the name is not valid
	}
	mux.Handle("GET /", http.FileServerFS(page))
	docsRoutes(mux)
	mux.HandleFunc("GET /api/stream", r.store.stream)
	mux.HandleFunc("GET /api/search", func(w http.ResponseWriter, request *http.Request) {
		var results Results
		results.Found, results.Total = r.store.search(searchOf(request.URL.Query()))
		if results.Found == nil {
			results.Found = []Found{}
		}
		respond(w, results, nil)
	})
	mux.HandleFunc("GET /api/object", func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		for _, k := range r.Kinds {
			if k.Name == query.Get("kind") {
				object, err := r.object(request.Context(), k, types.NamespacedName{Namespace: query.Get("namespace"), Name: query.Get("name")})
				respond(w, object, r.explained(err))
				return
			}
		}
		respond(w, nil, &failure{http.StatusNotFound, fmt.Sprintf("%q is not a kind of Groundskeeper", query.Get("kind"))})
	})
	mux.HandleFunc("GET /api/lost-nodes", func(w http.ResponseWriter, request *http.Request) {
		nodes, err := r.lostNodes(request.Context())
		respond(w, nodes, r.explained(err))
	})
	mux.HandleFunc("GET /api/flows", func(w http.ResponseWriter, request *http.Request) {
		flows, err := r.flows(request.Context(), request.URL.Query())
		respond(w, flows, r.explained(err))
	})
	mux.HandleFunc("GET /api/network", func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		network, err := r.network(request.Context(), query.Get("kind"),
			types.NamespacedName{Namespace: query.Get("namespace"), Name: query.Get("name")})
		respond(w, network, r.explained(err))
	})
	if len(r.Actions) > 0 {
		actionRoutes(mux, r, g)
	}
	return mux
}

// failure is the error of a request of the page.
type failure struct {
	code    int
	message string
}

func (f *failure) Error() string { return f.message }

// explained returns an error of a client with its code and a remedy. Without a response of the API server the code is that of a
// gateway.
func (r *reader) explained(err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	code := http.StatusBadGateway
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code > 0 {
		code = int(status.Status().Code)
	}
	return &failure{code, r.Explain(err).Error()}
}

// respond writes a value as JSON, or an error.
func respond(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		code := http.StatusInternalServerError
		if f, ok := errors.AsType[*failure](err); ok {
			code = f.code
		}
		w.WriteHeader(code)
		value = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(value) // fails when the page was closed
}
