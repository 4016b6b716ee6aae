"""Tasks, and Gymnasium environments made from them."""
