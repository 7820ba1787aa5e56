// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

// applicationCredential lets a program act for a user in one project, without the password.
type applicationCredential struct {
	id, name, secret, user, project string
	// end is when it expires; zero: never.
	end time.Time
}

// newApplicationCredential is the body of the creation of one.
type newApplicationCredential struct {
	Name         string  `json:"name"`
	Secret       string  `json:"secret"`
	ExpiresAt    *string `json:"expires_at"`
	Unrestricted bool    `json:"unrestricted"`
}

// createApplicationCredential makes one for the user of the token and the project of that.
func (s *Server) createApplicationCredential(c *call) *problem {
	t, wrong := s.ownToken(c)
	if wrong != nil {
		return wrong
	}
	var given newApplicationCredential
	if c.read("application_credential", &given) != nil || given.Name == "" {
		return &problem{status: http.StatusBadRequest, message: "Invalid input for field 'application_credential'"}
	}
	made := applicationCredential{id: uuid.NewString(), name: given.Name, secret: given.Secret, user: t.user, project: t.project}
	if given.ExpiresAt != nil {
		var err error
		if made.end, err = time.Parse("2006-01-02T15:04:05.000000", *given.ExpiresAt); err != nil {
			return &problem{status: http.StatusBadRequest, message: "Invalid input for field 'expires_at'"}
		}
	}
	if slices.ContainsFunc(s.content.applications, func(a applicationCredential) bool { return a.user == made.user && a.name == made.name }) {
		return &problem{status: http.StatusConflict, message: "Conflict occurred attempting to store application_credential - Duplicate entry found with name " + made.name + "."}
	}
	if made.secret == "" {
		made.secret = uuid.NewString()
	}
	s.content.applications = append(s.content.applications, made)
	return c.write(http.StatusCreated, map[string]any{"application_credential": map[string]any{"id": made.id, "name": made.name, "secret": made.secret,
		"project_id": made.project, "unrestricted": given.Unrestricted, "expires_at": given.ExpiresAt}})
}

// deleteApplicationCredential deletes one of the user of the token.
func (s *Server) deleteApplicationCredential(c *call) *problem {
	t, wrong := s.ownToken(c)
	if wrong != nil {
		return wrong
	}
	id := c.PathValue("id")
	i := slices.IndexFunc(s.content.applications, func(a applicationCredential) bool { return a.id == id && a.user == t.user })
	if i < 0 {
		return noApplicationCredential(id)
	}
	s.content.applications = slices.Delete(s.content.applications, i, i+1)
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

// ownToken returns the token of a request that a user sends for the user itself.
func (s *Server) ownToken(c *call) (token, *problem) {
	t, ok := s.content.tokens[c.Header.Get("X-Auth-Token")]
	switch {
	case !ok || !s.options.Now().Before(t.end):
		return token{}, unauthorized()
	case t.user != c.PathValue("user"):
		return token{}, &problem{status: http.StatusForbidden, message: "You are not authorized to perform the requested action."}
	default:
		return t, nil
	}
}

// application returns the user and the project that an application credential represents. Keystone does not find an application
// credential that was deleted, and rejects one that has expired.
func (s *Server) application(given map[string]any) (user string, scope membership, wrong *problem) {
	id, _ := given["id"].(string)
	secret, _ := given["secret"].(string)
	i := slices.IndexFunc(s.content.applications, func(a applicationCredential) bool { return a.id == id })
	if i < 0 {
		return "", membership{}, noApplicationCredential(id)
	}
	a := s.content.applications[i]
	if subtle.ConstantTimeCompare([]byte(a.secret), []byte(secret)) == 0 || !a.end.IsZero() && !s.options.Now().Before(a.end) {
		return "", membership{}, unauthorized()
	}
	for _, m := range s.content.projectsOf(a.user) {
		if m.id == a.project && !m.disabled {
			return a.user, m, nil
		}
	}
	return "", membership{}, unauthorized()
}

func noApplicationCredential(id string) *problem {
	return &problem{status: http.StatusNotFound, message: "Could not find Application Credential: " + id + "."}
}
