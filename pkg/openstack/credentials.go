// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"io"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// Credentials are the content of a Secret for a cloud: where it is and who Groundskeeper is there. They compare with ==, and print
// as the host of the cloud alone.
type Credentials struct {
	// AuthURL is the URL of Keystone, Region the region whose services are used; empty: the only one of the catalog.
	AuthURL, Region string
	// Interface is the kind of endpoint to use: public, internal or admin.
	Interface string
	// Username (with the domain of the user) or UserID, and Password.
	Username, UserID, UserDomainName, UserDomainID string
	Password                                       string
	// ProjectID, or ProjectName with the domain of the project.
	ProjectID, ProjectName, ProjectDomainName, ProjectDomainID string
	// ApplicationCredentialID, or the name with a user, and the secret. They stand for user and project.
	ApplicationCredentialID, ApplicationCredentialName, ApplicationCredentialSecret string
	// CACert are CAs in PEM that are trusted besides those of the system.
	CACert string
	// Insecure is true when the certificate of the cloud is not verified, because the clouds.yaml has verify: false.
	Insecure bool
	// Ignored names the fields of the clouds.yaml that are not known and were ignored.
	Ignored string
}

// Format keeps secrets out of every log, whatever the verb.
func (c Credentials) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// String names the cloud.
func (c Credentials) String() string { return "credentials for " + hostOf(c.AuthURL) }

// MarshalLog keeps secrets out of structured logs.
func (c Credentials) MarshalLog() any { return c.String() }

// MarshalJSON keeps secrets out of what is encoded by mistake.
func (c Credentials) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", c.String()), nil }

// secrets returns the texts that no message may repeat.
func (c Credentials) secrets() []string { return []string{c.Password, c.ApplicationCredentialSecret} }

// insecure is the trust of credentials whose cloud is not verified.
const insecure = "insecure"

// trust returns what the certificate of the cloud is verified with: connections are shared by it.
func (c Credentials) trust() string {
	if c.Insecure {
		return insecure
	}
	return c.CACert
}

// Warning is a setting of a Secret that works, and that someone should know of.
type Warning struct {
	// Insecure is true when the certificate of the cloud is not verified.
	Insecure bool
	Message  string
}

// Warnings returns the warnings about the credentials of a client, the insecure one first.
func (c *Client) Warnings() (all []Warning) {
	if c.credentials.Insecure {
		all = append(all, Warning{true, "the certificate of the cloud is not verified, and an attacker in between can read the password: " +
			"remove verify: false, and put the CA into key " + KeyCACert})
	}
	if c.credentials.Ignored != "" {
		all = append(all, Warning{false, "these fields of clouds.yaml are not known and are ignored: " + c.credentials.Ignored})
	}
	return all
}

func (c Credentials) application() bool {
	return c.ApplicationCredentialID != "" || c.ApplicationCredentialName != "" || c.ApplicationCredentialSecret != ""
}

// missing names what the credentials lack, in the words that name turns the fields of a clouds.yaml into; "": nothing.
func (c Credentials) missing(name func(field string) string) string {
	user := c.UserID != "" || c.Username != "" && (c.UserDomainName != "" || c.UserDomainID != "")
	switch {
	case c.application() && c.ApplicationCredentialSecret == "":
		return name("application_credential_secret")
	case c.application() && c.ApplicationCredentialID == "" && c.ApplicationCredentialName == "":
		return name("application_credential_id")
	case c.application() && (c.ApplicationCredentialID != "" || user):
		return ""
	case c.Username == "" && c.UserID == "":
		return name("username")
	case !user:
		return name("user_domain_name")
	case c.application():
		return ""
	case c.Password == "":
		return name("password")
	case c.ProjectID == "" && c.ProjectName == "":
		return name("project_id")
	case c.ProjectID == "" && c.ProjectDomainName == "" && c.ProjectDomainID == "":
		return name("project_domain_name")
	default:
		return ""
	}
}

// authOptions returns the credentials as gophercloud takes them.
func (c Credentials) authOptions() gophercloud.AuthOptions {
	o := gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL, AllowReauth: true}
	if c.ApplicationCredentialID == "" {
		// The id of a user and the id of a domain are unique alone, and a name beside them is rejected.
		if o.UserID = c.UserID; o.UserID == "" {
			o.Username = c.Username
			if o.DomainID = c.UserDomainID; o.DomainID == "" {
				o.DomainName = c.UserDomainName
			}
		}
	}
	if c.application() {
		o.ApplicationCredentialID, o.ApplicationCredentialSecret = c.ApplicationCredentialID, c.ApplicationCredentialSecret
		if c.ApplicationCredentialID == "" {
			o.ApplicationCredentialName = c.ApplicationCredentialName
		}
		return o
	}
	o.Password = c.Password
	if c.ProjectID != "" {
		o.Scope = &gophercloud.AuthScope{ProjectID: c.ProjectID}
		return o
	}
	o.Scope = &gophercloud.AuthScope{ProjectName: c.ProjectName, DomainID: c.ProjectDomainID}
	if c.ProjectDomainID == "" {
		o.Scope.DomainName = c.ProjectDomainName
	}
	return o
}

// availability returns the kind of endpoint as gophercloud names it.
func (c Credentials) availability() gophercloud.Availability {
	return gophercloud.Availability(strings.TrimSuffix(c.Interface, "URL"))
}
