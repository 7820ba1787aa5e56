// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package extension serves the Runtime Extension that delays the deletion of a Cluster with a topology: Cluster API calls its hook
// BeforeClusterDelete before it deletes any object of the Cluster. Callers are not authenticated, so requests only read, and a response
// contains nothing but the progress of a Deorbit.
package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

const (
	// Prefix is the path of all hooks, the group of their version.
	Prefix = "/" + group + "/"

	group, version = "hooks.runtime.cluster.x-k8s.io", "v1alpha1"
	handlerName    = desired.HookHandler

	discoveryPath = Prefix + version + "/discovery"
	deletePath    = Prefix + version + "/beforeclusterdelete/" + handlerName

	// retryAfter is when Cluster API calls the hook again, timeout how long it waits for a response, maxBody how large a request may be.
	retryAfter = 10 * time.Second
	timeout    = 10 * time.Second
	maxBody    = 4 << 20
)

// Holder reports whether a Cluster is to be retained, and what for.
type Holder func(ctx context.Context, cluster types.NamespacedName) (held bool, message string, err error)

type response struct {
	metav1.TypeMeta   `json:",inline"`
	Status            string    `json:"status"`
	Message           string    `json:"message,omitempty"`
	RetryAfterSeconds *int32    `json:"retryAfterSeconds,omitempty"`
	Handlers          []handler `json:"handlers,omitempty"`
}

const (
	success = "Success"
	failure = "Failure"
)

type handler struct {
	Name           string `json:"name"`
	RequestHook    hook   `json:"requestHook"`
	TimeoutSeconds int32  `json:"timeoutSeconds"`
	FailurePolicy  string `json:"failurePolicy"`
}

type hook struct {
	APIVersion string `json:"apiVersion"`
	Hook       string `json:"hook"`
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: group + "/" + version, Kind: kind}
}

// Handler serves the hooks below Prefix.
func Handler(held Holder, logger logr.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+discoveryPath, func(w http.ResponseWriter, r *http.Request) {
		if !accept(w, r, "DiscoveryRequest", nil) {
			return
		}
		write(w, response{TypeMeta: typeMeta("DiscoveryResponse"), Status: success, Handlers: []handler{{
			Name: handlerName, RequestHook: hook{APIVersion: group + "/" + version, Hook: "BeforeClusterDelete"},
			TimeoutSeconds: int32(timeout / time.Second),
			// Cluster API repeats the request when there is no response: it must not delete the machines of a cluster that is not empty.
			FailurePolicy: "Fail",
		}}})
	})
	mux.HandleFunc("POST "+deletePath, func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Cluster struct {
				Metadata struct {
					Namespace string `json:"namespace"`
					Name      string `json:"name"`
				} `json:"metadata"`
			} `json:"cluster"`
		}
		if !accept(w, r, "BeforeClusterDeleteRequest", &request) {
			return
		}
		key := types.NamespacedName{Namespace: request.Cluster.Metadata.Namespace, Name: request.Cluster.Metadata.Name}
		if key.Namespace == "" || key.Name == "" {
			http.Error(w, "cluster.metadata has no name or no namespace", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		result := response{TypeMeta: typeMeta("BeforeClusterDeleteResponse"), Status: success, RetryAfterSeconds: new(int32(0))}
		isHeld, message, err := held(ctx, key)
		switch {
		case err != nil:
			logger.Error(err, "Failed to determine whether a Cluster is retained", "cluster", key)
			result.Status, result.Message = failure, "whether the cluster is empty is unknown, see the log of the controller manager"
		case isHeld:
			result.Message, *result.RetryAfterSeconds = message, int32(retryAfter/time.Second)
		}
		write(w, result)
	})
	return mux
}

// accept reads a request of a kind, and reports whether it is one.
func accept(w http.ResponseWriter, r *http.Request, kind string, into any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, fmt.Sprintf("a request has at most %d bytes", maxBody), http.StatusRequestEntityTooLarge)
		return false
	}
	var is metav1.TypeMeta
	if err != nil || json.Unmarshal(body, &is) != nil || is != typeMeta(kind) || into != nil && json.Unmarshal(body, into) != nil {
		http.Error(w, "the body is not a "+kind+" of "+group+"/"+version, http.StatusBadRequest)
		return false
	}
	return true
}

func write(w http.ResponseWriter, result response) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // a client that did not receive it repeats the request
}
