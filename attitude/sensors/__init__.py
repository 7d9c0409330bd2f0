"""Sensor models: gyro, magnetometer, sun sensors, star tracker and GPS, with one error model."""
