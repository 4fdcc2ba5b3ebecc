"""Conditional random fields on images and other graphs whose edges join two nodes each."""
