// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

const (
	authenticationKind  = "AuthenticationConfiguration"
	authenticationGroup = "apiserver.config.k8s.io"
)

// authenticationConfiguration is what is checked of an AuthenticationConfiguration. The API server of the workload
// cluster knows the rest, which differs by its version, so that unknown fields are not checked here.
type authenticationConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	JWT        []struct {
		Issuer struct {
			URL       string   `json:"url"`
			Audiences []string `json:"audiences"`
		} `json:"issuer"`
	} `json:"jwt"`
}

func validateOIDC(oidc *kubernikusv1.OIDC, path *field.Path) field.ErrorList {
	if oidc == nil || *oidc == (kubernikusv1.OIDC{}) {
		return nil
	}
	var errs field.ErrorList
	if oidc.ClientID == "" {
		errs = append(errs, field.Required(path.Child("clientID"), "an issuer needs the audience of its tokens"))
	}
	if oidc.IssuerURL == "" {
		return append(errs, field.Required(path.Child("issuerURL"), "a client id needs the issuer of its tokens"))
	}
	return append(errs, validateIssuerURL(oidc.IssuerURL, path.Child("issuerURL"))...)
}

// validateAuthenticationConfiguration checks that the text is an AuthenticationConfiguration whose issuers are usable.
// The text itself is not repeated in an error.
func validateAuthenticationConfiguration(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return nil
	}
	// Strict means that no key may come twice.
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("must be YAML: %v", err))}
	}
	var configuration authenticationConfiguration
	if err := json.Unmarshal(data, &configuration); err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("must be an %s: %v", authenticationKind, err))}
	}
	var errs field.ErrorList
	version, err := schema.ParseGroupVersion(configuration.APIVersion)
	if err != nil || version.Group != authenticationGroup || !slices.Contains([]string{"v1", "v1beta1", "v1alpha1"}, version.Version) {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), configuration.APIVersion,
			fmt.Sprintf("must be %s/v1, v1beta1 or v1alpha1", authenticationGroup)))
	}
	if configuration.Kind != authenticationKind {
		errs = append(errs, field.Invalid(path.Child("kind"), configuration.Kind, "must be "+authenticationKind))
	}
	seen := sets.New[string]()
	for i, jwt := range configuration.JWT {
		path := path.Child("jwt").Index(i).Child("issuer")
		if seen.Has(jwt.Issuer.URL) {
			errs = append(errs, field.Duplicate(path.Child("url"), jwt.Issuer.URL))
		} else {
			errs = append(errs, validateIssuerURL(jwt.Issuer.URL, path.Child("url"))...)
		}
		seen.Insert(jwt.Issuer.URL)
		if len(jwt.Issuer.Audiences) == 0 {
			errs = append(errs, field.Required(path.Child("audiences"), "an issuer needs at least one audience"))
		}
	}
	return errs
}

func validateIssuerURL(text string, path *field.Path) field.ErrorList {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Scheme != "https" || parsed.Host == "":
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must be a URL that starts with https://")}
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must not have a user, a query or a fragment")}
	}
	return nil
}
