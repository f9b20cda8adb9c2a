// Reveal is a way out.
package fixture

import "fourfold/content"

var secret = content.New("secret")

var (
	_ string = secret.Reveal()
	_        = "the answer was " + secret.Reveal()
	_        = secret.Equal(content.New("s"))
	_        = content.Of[string]{}
)
