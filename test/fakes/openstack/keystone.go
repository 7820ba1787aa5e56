// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const timeFormat = "2006-01-02T15:04:05.000000Z"

func (s *Server) identityPaths() map[string]func(*call) *problem {
	return map[string]func(*call) *problem{
		"GET /identity/v3/":              s.identityVersion,
		"POST /identity/v3/auth/tokens":  s.authenticate,
		"GET /identity/v3/auth/projects": s.listProjects,

		"POST /identity/v3/users/{user}/application_credentials":        s.createApplicationCredential,
		"DELETE /identity/v3/users/{user}/application_credentials/{id}": s.deleteApplicationCredential,
	}
}

// unauthorized is how Keystone, and the middleware before the other services, reject.
func unauthorized() *problem {
	return &problem{status: http.StatusUnauthorized, message: "The request you have made requires authentication."}
}

// admit admits who has a token that is good, and who needs none.
func (s *Server) admit(c *call) *problem {
	path := c.URL.Path
	if strings.HasPrefix(path, identityRoot) || path == networkRoot+"/" || path == balancerRoot+"/" {
		return nil
	}
	t, ok := s.token(c.Header.Get("X-Auth-Token"))
	if !ok || !s.options.Now().Before(t.end) {
		c.response.Header().Set("WWW-Authenticate", "Keystone uri=\""+s.AuthURL()+"\"")
		return unauthorized()
	}
	c.project, c.admin = t.project, t.admin
	if !s.content.forbidden[t.project] {
		return nil
	}
	switch {
	case strings.HasPrefix(path, networkRoot):
		return &problem{status: http.StatusForbidden, kind: "PolicyNotAuthorized", message: "rule is disallowed by policy"}
	case strings.HasPrefix(path, balancerRoot):
		return notAllowed()
	default:
		return &problem{status: http.StatusForbidden, kind: "forbidden", message: "Policy doesn't allow this to be performed."}
	}
}

func (s *Server) identityVersion(c *call) *problem {
	return c.write(http.StatusOK, map[string]any{"version": map[string]any{"id": "v3.14", "status": "stable",
		"links": []any{map[string]any{"rel": "self", "href": s.AuthURL() + "/"}}}})
}

// authenticate gives a token for a user and a password, scoped to a project of the user, or for an application credential.
func (s *Server) authenticate(c *call) *problem {
	auth := dig(c.body, "auth")
	methods, _ := dig(auth, "identity")["methods"].([]any)
	var name string
	var scope membership
	var wrong *problem
	switch {
	case slices.Equal(methods, []any{"password"}):
		name, scope, wrong = s.password(auth)
	case slices.Equal(methods, []any{"application_credential"}):
		name, scope, wrong = s.application(dig(auth, "identity", "application_credential"))
	default:
		wrong = &problem{status: http.StatusBadRequest, message: "Invalid input for field 'identity/methods'"}
	}
	if wrong != nil {
		return wrong
	}
	id, now := uuid.NewString(), s.options.Now().UTC()
	t := token{user: name, project: scope.id, admin: s.content.users[name].admin, end: now.Add(s.options.TokenLifetime)}
	s.content.tokens[id] = t
	c.response.Header().Set("X-Subject-Token", id)
	return c.write(http.StatusCreated, map[string]any{"token": map[string]any{
		"methods": methods, "issued_at": now.Format(timeFormat), "expires_at": t.end.UTC().Format(timeFormat),
		"user":    map[string]any{"id": name, "name": name, "domain": map[string]any{"id": "default", "name": "Default"}},
		"project": map[string]any{"id": scope.id, "name": scope.name, "domain": map[string]any{"id": "default", "name": "Default"}},
		"catalog": s.catalog(), "roles": []any{map[string]any{"id": "member", "name": "member"}},
	}})
}

// password is who a user and a password stand for.
func (s *Server) password(auth map[string]any) (name string, scope membership, wrong *problem) {
	given := dig(auth, "identity", "password", "user")
	name, _ = given["name"].(string)
	if domain := dig(given, "domain"); domain["name"] != "Default" && domain["id"] != "default" {
		return "", membership{}, unauthorized()
	}
	known := s.content.users[name]
	if known == nil || known.password != given["password"] {
		return "", membership{}, unauthorized()
	}
	scope, ok := s.content.scope(name, dig(auth, "scope", "project"))
	if !ok {
		return "", membership{}, unauthorized()
	}
	return name, scope, nil
}

// token returns what a token stands for, by the Keystone of the cloud.
func (s *Server) token(id string) (token, bool) {
	if k := s.options.Keystone; k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		s = k
	}
	t, ok := s.content.tokens[id]
	return t, ok
}

// catalog leads to the services, on all interfaces and in all regions. Keystone gives endpoints no order: here that of the
// regions differs from service to service.
func (s *Server) catalog() []any {
	var services []any
	regions := append([]*Server{s}, s.regions...)
	for _, service := range [][3]string{
		{"identity", "keystone", identityRoot + "/v3"}, {"network", "neutron", networkRoot}, {"compute", "nova", computeRoot},
		{"block-storage", "cinder", volumeRoot}, {"volumev3", "cinderv3", volumeRoot}, {"load-balancer", "octavia", balancerRoot},
		{"shared-file-system", "manila", shareRoot},
	} {
		slices.Reverse(regions)
		var endpoints []any
		for _, of := range regions {
			if slices.Contains(of.options.Without, service[0]) {
				continue
			}
			for _, kind := range []string{"admin", "internal", "public"} {
				endpoints = append(endpoints, map[string]any{"id": of.options.Region + service[1] + kind, "interface": kind,
					"region": of.options.Region, "region_id": of.options.Region, "url": of.http.URL + service[2]})
			}
		}
		if len(endpoints) == 0 {
			continue
		}
		services = append(services, map[string]any{"id": service[1], "type": service[0], "name": service[1], "endpoints": endpoints})
	}
	return services
}

// dig walks down into objects; what does not exist is an empty one.
func dig(from map[string]any, path ...string) map[string]any {
	for _, name := range path {
		from, _ = from[name].(map[string]any)
	}
	return from
}
