// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxBody is how many bytes the body of a request may have.
const maxBody = 64 << 10

// Action is a change that the page offers. It prompts as the command does that makes the same change.
type Action struct {
	// Name is in requests, Title is on the button.
	Name, Title string
	// Kind is the name of the kind whose objects it changes.
	Kind string
	// Applies reports whether it is of use for an object.
	Applies func(client.Object) bool
	// Prompt returns what a user has to confirm. An error is why the change is not possible.
	Prompt func(context.Context, client.Object) (Question, error)
	// Do changes the object, unless it was changed since it was read.
	Do func(context.Context, client.Object) error
}

// Question is what a user confirms.
type Question struct {
	// UID is that of the object.
	UID types.UID `json:"uid"`
	// Preview is what the change does, Question the question.
	Preview  string `json:"preview"`
	Question string `json:"question"`
}

// Offer is an action as the page offers it.
type Offer struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// confirmed is the request of a user who confirmed a question.
type confirmed struct {
	Action    string `json:"action"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Question
}

// offers are the actions for an object.
func (r *reader) offers(k Kind, object client.Object) (all []Offer) {
	for _, a := range r.Actions {
		if a.Kind == k.Name && object.GetDeletionTimestamp().IsZero() && a.Applies(object) {
			all = append(all, Offer{a.Name, a.Title})
		}
	}
	return all
}

// prompt returns the question of an action about the current state of an object.
func (r *reader) prompt(ctx context.Context, action string, name client.ObjectKey) (*Action, client.Object, Question, error) {
	for i := range r.Actions {
		a := &r.Actions[i]
		if a.Name != action {
			continue
		}
		for _, k := range r.Kinds {
			if k.Name != a.Kind {
				continue
			}
			object := k.Object()
			if err := r.client.Get(ctx, name, object); err != nil {
				return nil, nil, Question{}, r.explained(err)
			}
			if !a.Applies(object) {
				return nil, nil, Question{}, &failure{http.StatusConflict, fmt.Sprintf("%s %s: there is nothing to %s", k.Name, name, a.Name)}
			}
			question, err := a.Prompt(ctx, object)
			if err != nil {
				return nil, nil, Question{}, &failure{http.StatusConflict, err.Error()}
			}
			question.UID = object.GetUID()
			return a, object, question, nil
		}
	}
	return nil, nil, Question{}, &failure{http.StatusNotFound, fmt.Sprintf("%q is not an action of the console", action)}
}

// do makes a change that a user confirmed, if the question would still be the same.
func (r *reader) do(w http.ResponseWriter, request *http.Request) error {
	var given confirmed
	body := json.NewDecoder(http.MaxBytesReader(w, request.Body, maxBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&given); err != nil {
		return &failure{http.StatusBadRequest, "the request cannot be read: " + err.Error()}
	}
	action, object, question, err := r.prompt(request.Context(), given.Action, client.ObjectKey{Namespace: given.Namespace, Name: given.Name})
	if err != nil {
		return err
	}
	if question != given.Question {
		return &failure{http.StatusConflict, "the object has changed since then: read the question again. Nothing was changed"}
	}
	return r.explained(action.Do(request.Context(), object))
}

// actionRoutes adds the questions and the changes.
func actionRoutes(mux *http.ServeMux, r *reader, g *guard) {
	mux.HandleFunc("GET "+actionPath, func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		_, _, question, err := r.prompt(request.Context(), query.Get("action"),
			client.ObjectKey{Namespace: query.Get("namespace"), Name: query.Get("name")})
		respond(w, struct {
			Question
			Token string `json:"token"`
		}{question, g.form}, err)
	})
	mux.HandleFunc("POST "+actionPath, func(w http.ResponseWriter, request *http.Request) {
		respond(w, struct{}{}, r.do(w, request))
	})
}
