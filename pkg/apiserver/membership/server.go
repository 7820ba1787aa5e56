// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// Server connects the authorizer, which is created first, with the storage from which it reads Projects.
type Server struct {
	authorizer atomic.Pointer[Authorizer]
	projects   atomic.Pointer[registry.REST[*gardenerv1beta1.Project]]
	// cached reports whether there is a watch cache of Projects, which has the index of readers. Without it, lists compare all Projects.
	cached bool
}

// NewServer returns a server that restricts nothing yet. With a watch cache, the Projects of a user are found by an index.
func NewServer(cached bool) *Server { return &Server{cached: cached} }

// Authorize returns the authorizer of the server, which restricts what rbac allows.
func (s *Server) Authorize(rbac authorizer.Authorizer) authorizer.Authorizer {
	restricted := NewAuthorizer(rbac, s.lookup)
	s.authorizer.Store(restricted)
	return restricted
}

// Restrict replaces the Projects in the storage of their group, whose kind is Indexed.
func (s *Server) Restrict(storage map[string]rest.Storage) error {
	projects, ok := storage[resource].(*registry.REST[*gardenerv1beta1.Project])
	if !ok {
		return fmt.Errorf("%s have a %T: it cannot be restricted to members", resource, storage[resource])
	}
	s.projects.Store(projects)
	storage[resource] = &Storage{REST: projects, server: s}
	return nil
}

// lookup reads a Project from the watch cache.
func (s *Server) lookup(ctx context.Context, name string) (*gardenerv1beta1.Project, error) {
	projects := s.projects.Load()
	if projects == nil {
		return nil, errors.New("the server is starting: projects are not stored yet")
	}
	object, err := projects.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	project, ok := object.(*gardenerv1beta1.Project)
	if !ok {
		return nil, fmt.Errorf("project %q is a %T", name, object)
	}
	return project, nil
}

// allowsAny reports whether RBAC lets a user do something with Projects of which the user is not a member.
func (s *Server) allowsAny(ctx context.Context, request authorizer.Attributes) (bool, error) {
	restricted := s.authorizer.Load()
	if restricted == nil {
		return false, errors.New("the server has no authorizer")
	}
	return restricted.AllowsAny(ctx, request)
}
