// Writes the root certificates that our images trust. A module of its own: they are part of the images, not of the
// product.
module groundskeeper.io/groundskeeper/hack/images/roots

go 1.26.0

require golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d
