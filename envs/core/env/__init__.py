"""Tasks and Gymnasium's environments made of them."""
